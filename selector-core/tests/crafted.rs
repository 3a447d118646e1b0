//! Payloads with a right checksum and a wrong content: what FORMAT.md §7 demands of a reader.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{Raw, varint};
use selector_core::{Feature, GemmShape, KernelId, Model, ModelError, NodeError, ProblemClass};

const SPLIT: [u8; 6] = [0x80, 0, 24, 0, 2, 0];
const LEAF: [u8; 6] = [1, 0, 0, 0, 0, 1];

/// The error that one change to a valid model leads to.
fn refusal(change: impl FnOnce(&mut Raw)) -> ModelError {
    let mut raw = Raw::new();
    change(&mut raw);
    Model::parse(&raw.blob()).unwrap_err()
}

/// A split at `index` of the entries whose right branch begins at `right`.
fn split_to(right: u16) -> [u8; 6] {
    let mut split = SPLIT;
    split[4..6].copy_from_slice(&right.to_le_bytes());
    split
}

#[test]
fn the_unchanged_payload_is_a_model() {
    let blob = Raw::new().blob();
    let model = Model::parse(&blob).unwrap();
    let first = |m| model.select(ProblemClass::F32_NN, GemmShape::new(m, 1, 1, 1)).first();
    assert_eq!((first(8), first(9)), (KernelId(1), KernelId(2)));
    assert_eq!((model.device(), model.driver(), model.method()), ("d", "", "p"));
    assert_eq!((model.space(), model.score()), (None, None));
    assert_eq!(model.kernel(KernelId(1)).unwrap().parameters, [8]);
    let second = model.kernel(KernelId(2)).unwrap();
    assert_eq!((second.family, second.parameters.len()), (3, 0));
}

#[test]
fn entries_that_mean_nothing_are_refused_where_they_stand() {
    let node = |index, error| ModelError::Node { index, error };
    for (place, byte, expected) in [
        ((0, 0), 0x81, node(0, NodeError::Feature(1))),
        ((0, 0), 0xFF, node(0, NodeError::Feature(127))),
        ((0, 1), 1, node(0, NodeError::Reserved)),
        ((0, 2), 255, node(0, NodeError::Threshold(255))),
        ((0, 3), 1, node(0, NodeError::Threshold(280))),
        ((1, 0), 3, node(1, NodeError::Kernel(3))),
        ((2, 2), 127, node(2, NodeError::Kernel(127))),
        ((1, 1), 1, node(1, NodeError::Ranking)),
        ((1, 2), 2, node(1, NodeError::Ranking)),
        // A leaf that becomes a split: its right branch is not there.
        ((2, 0), 0x80, node(2, NodeError::Reserved)),
    ] {
        let (entry, offset) = place;
        let error = refusal(|raw| raw.entries[entry][offset] = byte);
        assert_eq!(error, expected, "{place:?} = {byte}");
    }
}

#[test]
fn a_leaf_may_rank_nothing_but_the_universal_kernel() {
    let mut raw = Raw::new();
    raw.entries[1][0] = 0;
    let blob = raw.blob();
    let leaf =
        Model::parse(&blob).unwrap().select(ProblemClass::F32_NN, GemmShape::new(1, 1, 1, 1));
    assert_eq!(leaf.kernels().collect::<Vec<_>>(), [KernelId::UNIVERSAL]);
}

#[test]
fn a_right_branch_begins_where_the_left_one_ends() {
    for right in [0, 1, 3, 4, 100, u16::MAX] {
        let error = refusal(|raw| raw.entries[0] = split_to(right));
        assert_eq!(error, ModelError::Node { index: 2, error: NodeError::Branch }, "{right}");
    }
}

#[test]
fn a_tree_that_does_not_end_is_refused() {
    let unfinished = |index| ModelError::Node { index, error: NodeError::Unfinished };
    assert_eq!(refusal(|raw| raw.entries.truncate(2)), unfinished(2));
    assert_eq!(refusal(|raw| raw.entries.truncate(1)), unfinished(1));
    let error = refusal(|raw| raw.entries = (0..9).map(|_| SPLIT).collect());
    assert_eq!(error, unfinished(9));
}

#[test]
fn a_head_names_the_first_entry_of_a_tree() {
    // Nothing begins at 1: the first tree is never named.
    let error = refusal(|raw| raw.heads = vec![1, 0, 0, 1]);
    assert_eq!(error, ModelError::UnreachableEntries { first: 0 });
    for root in [1, 2, 3, 127] {
        let error = refusal(|raw| raw.heads = vec![2, 0, 0, 0, 1, 1, root]);
        assert_eq!(error, ModelError::Root { class: 1, root: root.into() });
    }
    let error = refusal(|raw| raw.entries.clear());
    assert_eq!(error, ModelError::Root { class: 0, root: 0 });
}

#[test]
fn entries_that_no_head_names_are_refused() {
    let error = refusal(|raw| raw.entries.push(LEAF));
    assert_eq!(error, ModelError::UnreachableEntries { first: 3 });
    let error = refusal(|raw| raw.heads = vec![0]);
    assert_eq!(error, ModelError::UnreachableEntries { first: 0 });
}

#[test]
fn classes_are_known_and_named_once() {
    assert_eq!(refusal(|raw| raw.heads = vec![1, 8, 0, 0]), ModelError::ClassUnknown(8));
    assert_eq!(refusal(|raw| raw.heads = vec![1, 0, 255, 0]), ModelError::ClassUnknown(255));
    let error = refusal(|raw| raw.heads = vec![2, 0, 0, 0, 0, 1, 0]);
    assert_eq!(error, ModelError::ClassTwice(0));
    let error = refusal(|raw| raw.heads = [&[13][..], &[0; 39]].concat());
    assert_eq!(error, ModelError::TooManyClasses { need: 13, have: 12 });
    let error = refusal(|raw| raw.heads = vec![0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 0, 0, 0]);
    let need = u32::MAX as usize;
    assert_eq!(error, ModelError::TooManyClasses { need, have: 12 });
}

#[test]
fn classes_above_7_are_known_from_version_1_1_on() {
    for heads in [vec![1, 8, 0, 0], vec![1, 0, 8, 0], vec![1, 11, 11, 0]] {
        let unknown = heads[1].max(heads[2]);
        let of = |minor, class: u8| {
            let mut raw = Raw { minor, heads: heads.clone(), ..Raw::new() };
            raw.heads.iter_mut().skip(1).filter(|one| **one > 0).for_each(|one| *one = class);
            Model::parse(&raw.blob()).err()
        };
        assert_eq!(of(0, 7), None);
        assert_eq!(of(0, unknown), Some(ModelError::ClassUnknown(unknown)));
        assert_eq!(of(1, unknown), None);
        assert_eq!(of(1, 12), Some(ModelError::ClassUnknown(12)));
    }
}

#[test]
fn all_classes_may_share_a_tree_and_a_model_may_have_none() {
    let mut raw = Raw { minor: 1, ..Raw::new() };
    raw.heads = [vec![12], (0..12).flat_map(|class| [class, 0, 0]).collect()].concat();
    let blob = raw.blob();
    let model = Model::parse(&blob).unwrap();
    let shape = GemmShape::new(10, 1, 1, 1);
    for class in ProblemClass::all() {
        assert_eq!(model.select(class, shape).first(), KernelId(2));
        assert_eq!(model.measured_as(class), Some(ProblemClass::F32_NN));
    }
    (raw.heads, raw.entries) = (vec![0], vec![]);
    let blob = raw.blob();
    let model = Model::parse(&blob).unwrap();
    assert_eq!(model.select(ProblemClass::F32_NN, shape).first(), KernelId::UNIVERSAL);
    assert_eq!(model.path(ProblemClass::F32_NN, shape).count(), 0);
}

#[test]
fn entries_come_in_sixes() {
    for (length, have) in [(17, 17), (13, 13), (1, 1), (19, 19)] {
        let error = refusal(|raw| {
            raw.length = varint(length);
            raw.rest = vec![0];
        });
        // Shorter: the entries are ragged and something is left over; the latter is seen first.
        let expected =
            if length == 19 { ModelError::RaggedTrees { have } } else { ModelError::Payload };
        assert_eq!(error, expected, "{length}");
    }
    let error = refusal(|raw| raw.length = varint(24));
    assert_eq!(error, ModelError::Payload);
}

#[test]
fn leftover_payload_bytes_are_refused() {
    for extra in [1, 6, 12] {
        assert_eq!(refusal(|raw| raw.rest = vec![0; extra]), ModelError::Payload);
    }
}

#[test]
fn more_entries_than_indices_are_refused_by_number() {
    let error = refusal(|raw| raw.entries = vec![LEAF; 65_536]);
    assert_eq!(error, ModelError::TooManyEntries { need: 65_536, have: 65_535 });
}

#[test]
fn kernel_counts_are_compared_before_anything_is_stored() {
    for (count, need) in
        [(&[0x80, 1][..], 128), (&[0xFF, 0x7F], 16_383), (&[0xFF, 0xFF, 0x03], 65_535)]
    {
        let error = refusal(|raw| raw.count = count.to_vec());
        assert_eq!(error, ModelError::TooManyKernels { need, have: 127 });
        let text = error.to_string();
        assert!(text.contains(&need.to_string()) && text.contains("127"), "{text}");
    }
    for count in [&[0xFF, 0xFF, 0x07][..], &[0xFF, 0xFF, 0xFF, 0xFF, 0x0F]] {
        assert_eq!(refusal(|raw| raw.count = count.to_vec()), ModelError::Payload);
    }
    // One kernel fewer or more than announced shifts all that follows.
    assert!(matches!(refusal(|raw| raw.count = vec![3]), ModelError::Payload));
}

#[test]
fn parameter_counts_are_compared_before_anything_is_stored() {
    let error = refusal(|raw| raw.kernels = [&[0, 17][..], &[1; 17], &[3, 0]].concat());
    assert_eq!(error, ModelError::TooManyParameters { kernel: 1, need: 17, have: 16 });
    let error = refusal(|raw| raw.kernels = vec![0, 1, 8, 3, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F]);
    let need = u32::MAX as usize;
    assert_eq!(error, ModelError::TooManyParameters { kernel: 2, need, have: 16 });
}

#[test]
fn huge_lengths_of_texts_and_entries_end_at_the_payload() {
    let huge: [&[u8]; 3] = [
        &[0xFF, 0xFF, 0xFF, 0xFF, 0x0F],
        &[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01],
        &[0xFF; 11],
    ];
    for length in huge {
        assert_eq!(refusal(|raw| raw.names = length.to_vec()), ModelError::Payload);
        assert_eq!(refusal(|raw| raw.length = length.to_vec()), ModelError::Payload);
    }
}

#[test]
fn features_are_known_listed_once_and_at_most_five() {
    assert_eq!(refusal(|raw| raw.features = vec![1, 14]), ModelError::FeatureUnknown(14));
    assert_eq!(refusal(|raw| raw.features = vec![2, 0, 255]), ModelError::FeatureUnknown(255));
    assert_eq!(refusal(|raw| raw.features = vec![3, 0, 9, 0]), ModelError::FeatureTwice(0));
    let error = refusal(|raw| raw.features = vec![6, 0, 1, 2, 3, 4, 5]);
    assert_eq!(error, ModelError::TooManyFeatures { need: 6, have: 5 });
    let error = refusal(|raw| raw.features = vec![0]);
    assert_eq!(error, ModelError::Node { index: 0, error: NodeError::Feature(0) });
    assert_eq!(refusal(|raw| raw.features = vec![0xFF, 0xFF, 0xFF, 0x7F, 0]), ModelError::Payload);
    // In another order, and one that nothing asks for.
    let mut raw = Raw::new();
    raw.features = vec![2, 13, 0];
    raw.entries[0][0] = 0x81;
    let blob = raw.blob();
    let model = Model::parse(&blob).unwrap();
    assert_eq!(model.features(), [Feature::MnPerK, Feature::M]);
    let first = |m| model.select(ProblemClass::F32_NN, GemmShape::new(m, 1, 1, 1)).first();
    assert_eq!((first(8), first(9)), (KernelId(1), KernelId(2)));
}

#[test]
fn an_overlong_number_is_the_same_number() {
    let mut raw = Raw::new();
    raw.count = vec![0x82, 0x00];
    assert_eq!(Model::parse(&raw.blob()).unwrap().kernels().len(), 2);
    assert_ne!(raw.blob(), Raw::new().blob());
}

#[test]
fn texts_are_utf_8_and_options_are_0_or_1() {
    assert_eq!(refusal(|raw| raw.names[1] = 0xFF), ModelError::Payload);
    assert_eq!(refusal(|raw| raw.options = vec![2, 0, 0]), ModelError::Payload);
    assert_eq!(refusal(|raw| raw.options = vec![0, 255, 0]), ModelError::Payload);
}

#[test]
fn a_share_of_optimal_is_at_most_one() {
    let with = |score: usize| [vec![0, 1], varint(score)].concat();
    let mut raw = Raw::new();
    raw.options = with(10_000);
    assert_eq!(Model::parse(&raw.blob()).unwrap().score().unwrap().share(), 1.0);
    assert_eq!(refusal(|raw| raw.options = with(10_001)), ModelError::Score(10_001));
}

#[test]
fn a_path_of_65_splits_is_refused_to_either_side() {
    // All to the left: the splits, then their leaves. All to the right: split, leaf, split, …
    let lefts = |count: u16| -> Vec<[u8; 6]> {
        let splits = (0..count).map(|index| split_to(2 * count - index));
        splits.chain((0..=count).map(|_| LEAF)).collect()
    };
    let rights = |count: u16| -> Vec<[u8; 6]> {
        let pairs = (0..count).flat_map(|index| [split_to(2 * index + 2), LEAF]);
        pairs.chain([LEAF]).collect()
    };
    for (longest, longer, index) in [(lefts(64), lefts(65), 64), (rights(64), rights(65), 128)] {
        let mut raw = Raw::new();
        raw.entries = longest;
        let blob = raw.blob();
        let model = Model::parse(&blob).unwrap();
        let splits = |m| model.path(ProblemClass::F32_NN, GemmShape::new(m, 1, 1, 1)).count();
        assert_eq!(splits(0).max(splits(9)), 64);
        let error = refusal(|raw| raw.entries = longer);
        assert_eq!(error, ModelError::Node { index, error: NodeError::TooDeep });
    }
}
