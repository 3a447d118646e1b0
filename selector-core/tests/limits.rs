//! What the format cannot hold is refused by the writer, with the limit and by how much.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{leaf, source, split};
use selector_core::{
    EncodeError, FastTree, Feature, GemmShape, KernelId, Leaf, Loss, MAX_DEPTH, Model, ModelError,
    NodeError, ProblemClass, Samples, Score, Tree,
};

const CLASS: ProblemClass = ProblemClass::F32_NN;

/// A chain of `depth` splits on m: every leaf hangs on the left, or every one on the right.
fn chain(depth: u32, leaves_left: bool) -> Tree {
    (1..=depth).rev().fold(leaf(&[1]), |inner, level| {
        let own = leaf(&[level as u8 % 2 + 1]);
        let (threshold, left, right) = match leaves_left {
            true => (level, own, inner),
            false => (depth - level, inner, own),
        };
        split(Feature::M, threshold.min(254) as u16, left, right)
    })
}

/// A tree with all leaves at `depth`.
fn full(depth: u32) -> Tree {
    match depth {
        0 => leaf(&[1]),
        _ => split(Feature::M, 10 * depth as u16, full(depth - 1), full(depth - 1)),
    }
}

#[test]
fn chains_of_40_and_of_64_splits_answer_at_every_level() {
    for depth in [40, MAX_DEPTH as u32] {
        for leaves_left in [false, true] {
            let tree = chain(depth, leaves_left);
            assert_eq!((tree.depth(), tree.leaves()), (depth as usize, depth as usize + 1));
            let blob = source(2, vec![tree.clone()]).encode().unwrap();
            let model = Model::parse(&blob).unwrap();
            assert_eq!(model.entries(), 2 * depth as usize + 1);
            let shapes = || (0..=depth + 1).map(|key| common::shape_of(Feature::M, key as u16));
            let fast = FastTree::<64>::new(&model, CLASS).unwrap();
            for shape in shapes() {
                assert_eq!(model.select(CLASS, shape), common::plain_select(&tree, shape));
                assert_eq!(fast.select(shape), model.select(CLASS, shape));
            }
            let longest = shapes().map(|shape| model.path(CLASS, shape).count()).max();
            assert_eq!(longest, Some(depth as usize));
        }
    }
}

#[test]
fn a_chain_of_65_splits_is_refused_by_number() {
    for leaves_left in [false, true] {
        for depth in [65, 200_000] {
            let error = source(2, vec![chain(depth, leaves_left)]).encode().unwrap_err();
            let actual = depth as usize;
            assert_eq!(error, EncodeError::TooDeep { actual, limit: 64 });
            assert!(error.to_string().contains(&format!("{depth} splits deep")));
        }
    }
}

#[test]
fn entries_up_to_the_last_index_are_written_and_one_leaf_more_is_not() {
    // 2^15 leaves and 2^15 - 1 splits: one entry for each index below 65,535.
    let blob = source(1, vec![full(15)]).encode().unwrap();
    let model = Model::parse(&blob).unwrap();
    assert_eq!(model.entries(), 65_535);
    assert_eq!(model.select(CLASS, GemmShape::new(u32::MAX, 1, 1, 1)).first(), KernelId(1));
    let larger = split(Feature::N, 5, full(15), leaf(&[1]));
    let error = source(1, vec![larger]).encode().unwrap_err();
    assert_eq!(error, EncodeError::TooManyEntries { actual: 65_537, limit: 65_535 });
    assert!(error.to_string().contains("65537") && error.to_string().contains("65535"));
    let two = source(1, vec![full(15), leaf(&[1])]).encode().unwrap_err();
    assert_eq!(two, EncodeError::TooManyEntries { actual: 65_536, limit: 65_535 });
}

#[test]
fn one_hundred_and_twenty_seven_kernels_are_written_and_one_more_is_not() {
    let blob = source(127, vec![leaf(&[127, 1, 126])]).encode().unwrap();
    let leaf_read = Model::parse(&blob).unwrap().select(CLASS, GemmShape::new(1, 1, 1, 1));
    assert_eq!(leaf_read.first(), KernelId(127));
    for actual in [128, 256, 257, 70_000] {
        let error = source(actual, vec![leaf(&[1])]).encode().unwrap_err();
        assert_eq!(error, EncodeError::TooManyKernels { actual, limit: 127 });
        assert!(error.to_string().contains(&format!("{actual} kernels")));
    }
}

#[test]
fn a_sixth_feature_is_refused_by_number() {
    let ask = |count: usize| {
        let features = Feature::ALL.into_iter().take(count);
        features.fold(leaf(&[1]), |tree, feature| split(feature, 5, tree, leaf(&[2])))
    };
    let blob = source(2, vec![ask(5)]).encode().unwrap();
    assert_eq!(Model::parse(&blob).unwrap().features(), &Feature::ALL[..5]);
    let error = source(2, vec![ask(6)]).encode().unwrap_err();
    assert_eq!(error, EncodeError::TooManyFeatures { actual: 6, limit: 5 });
    let error = source(2, vec![ask(3), ask(14)]).encode().unwrap_err();
    assert_eq!(error, EncodeError::TooManyFeatures { actual: 14, limit: 5 });
    assert!(error.to_string().contains("14 features") && error.to_string().contains("uses 5"));
}

#[test]
fn a_threshold_that_no_shape_exceeds_is_refused() {
    for feature in Feature::ALL {
        let model =
            |threshold| source(2, vec![split(feature, threshold, leaf(&[1]), leaf(&[2]))]).encode();
        let largest = feature.largest();
        assert!(model(largest - 1).is_ok());
        for threshold in [largest, 1024, u16::MAX] {
            let error = NodeError::Threshold(threshold);
            let expected = EncodeError::Invalid(ModelError::Node { index: 0, error });
            assert_eq!(model(threshold), Err(expected));
        }
    }
}

#[test]
fn a_source_that_contradicts_itself_is_refused() {
    let mut absent = source(1, vec![leaf(&[1])]);
    absent.classes[0].tree = 1;
    assert_eq!(absent.encode().unwrap_err(), EncodeError::NoSuchTree(1));

    let invalid = |error| Err(EncodeError::Invalid(error));
    let mut idle = source(1, vec![leaf(&[1]), leaf(&[])]);
    idle.classes.truncate(1);
    assert_eq!(idle.encode(), invalid(ModelError::UnreachableEntries { first: 1 }));

    let mut twice = source(1, vec![leaf(&[1]), leaf(&[])]);
    twice.classes[1].class = CLASS;
    assert_eq!(twice.encode(), invalid(ModelError::ClassTwice(0)));

    let unknown = source(1, vec![split(Feature::M, 1, leaf(&[1]), leaf(&[2]))]);
    let error = ModelError::Node { index: 2, error: NodeError::Kernel(2) };
    assert_eq!(unknown.encode(), invalid(error));

    let mut boastful = source(1, vec![leaf(&[1])]);
    boastful.score = Some(Score(10_001));
    assert_eq!(boastful.encode(), invalid(ModelError::Score(10_001)));
}

/// In an entry the top bit of the first id tells a split from a leaf: this one looks like a split
/// whose branches are the two trees behind it.
#[test]
fn a_kernel_id_that_reads_as_a_split_is_refused() {
    let loss = Loss::from_byte;
    let disguised = Leaf::new(&[KernelId(128)], loss(0), loss(5), Samples::NONE);
    let split = split(Feature::M, 5, leaf(&[1]), leaf(&[2]));
    let mut source = source(4, vec![split, Tree::Leaf(disguised), leaf(&[1]), leaf(&[2])]);
    source.classes.truncate(2);
    let error = ModelError::Node { index: 3, error: NodeError::Kernel(128) };
    assert_eq!(source.encode(), Err(EncodeError::Invalid(error)));
}
