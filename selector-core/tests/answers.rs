//! What a model answers is what its trees say.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{any_tree, feature, leaf, plain_select, plain_value, sample, shape, shapes_near};
use common::{source, split};
use proptest::prelude::*;
use selector_core::{
    Feature, GemmShape, KernelId, KernelMask, Model, ModelSource, Node, ProblemClass, Score, Step,
    Tree, TreeSource,
};

const CLASS: ProblemClass = ProblemClass::F32_NN;

/// Shapes that reach `value` of a feature: its own dimension, the others 1.
fn shape_with(feature: Feature, value: u32) -> GemmShape {
    match feature {
        Feature::K | Feature::Mk | Feature::Kn | Feature::KPerN => GemmShape::new(1, value, 1, 1),
        Feature::N => GemmShape::new(1, 1, value, 1),
        Feature::Batch | Feature::Bmn | Feature::Bmnk => GemmShape::new(1, 1, 1, value),
        _ => GemmShape::new(value, 1, 1, 1),
    }
}

#[test]
fn small_m_goes_left_and_large_m_goes_right() {
    let blob = source(2, vec![split(Feature::M, 64, leaf(&[1]), leaf(&[2]))]).encode().unwrap();
    let model = Model::parse(&blob).unwrap();
    let first = |m| model.select(CLASS, GemmShape::new(m, 7, 7, 1)).first();
    assert_eq!([1, 63, 64, 65, u32::MAX].map(first), [1, 1, 1, 2, 2].map(KernelId));
}

#[test]
fn a_threshold_is_met_exactly_by_every_feature() {
    for feature in Feature::ALL {
        for dimension in [1, 2, 3, 255, 256, 65_535, 65_536, 16_777_217, u32::MAX] {
            let shape = shape_with(feature, dimension);
            let value = feature.of(shape);
            assert!(value >= u64::from(dimension));
            for (threshold, kernel) in [(value - 1, 2), (value, 1), (value + 1, 1)] {
                let tree = split(feature, threshold, leaf(&[1]), leaf(&[2]));
                let blob = source(2, vec![tree]).encode().unwrap();
                let answer = Model::parse(&blob).unwrap().select(CLASS, shape).first();
                assert_eq!(answer, KernelId(kernel), "{feature} of {shape} at {threshold}");
            }
        }
    }
}

#[test]
fn the_largest_threshold_sends_everything_left() {
    for feature in Feature::ALL {
        for shape in [GemmShape::new(u32::MAX, 0, 0, u32::MAX), GemmShape::new(1, 1, 1, 1)] {
            assert!(feature.at_most(shape, u64::MAX));
        }
    }
}

#[test]
fn a_single_leaf_answers_everything() {
    let blob = source(3, vec![leaf(&[3])]).encode().unwrap();
    let model = Model::parse(&blob).unwrap();
    assert_eq!(model.entries(), 1);
    for shape in [
        GemmShape::new(1, 1, 1, 1),
        GemmShape::new(u32::MAX, 1, 1, 1),
        GemmShape::new(0, 0, 0, 0),
        GemmShape::new(u32::MAX, u32::MAX, u32::MAX, u32::MAX),
    ] {
        assert_eq!(model.select(CLASS, shape).first(), KernelId(3));
        assert_eq!(model.path(CLASS, shape).count(), 0);
    }
}

#[test]
fn a_class_without_a_tree_gets_the_universal_kernel() {
    let blob = sample().encode().unwrap();
    let model = Model::parse(&blob).unwrap();
    let class = ProblemClass::from_index(7).unwrap();
    assert_eq!((model.root(class), model.measured_as(class)), (None, None));
    let leaf = model.select(class, GemmShape::new(5, 5, 5, 5));
    assert_eq!(leaf.kernels().collect::<Vec<_>>(), [KernelId::UNIVERSAL]);
    assert_eq!(leaf.expected.log2(), None);
}

#[test]
fn classes_that_share_a_tree_answer_alike_and_say_who_was_measured() {
    let blob = sample().encode().unwrap();
    let model = Model::parse(&blob).unwrap();
    let guest = ProblemClass::from_index(6).unwrap();
    assert_eq!(model.root(guest), model.root(CLASS));
    assert_eq!(model.measured_as(guest), Some(CLASS));
    for m in [1, 50, 5000] {
        let shape = GemmShape::new(m, 200, 300, 1);
        assert_eq!(model.select(guest, shape), model.select(CLASS, shape));
    }
}

#[test]
fn a_path_tells_each_question_and_its_answer() {
    let blob = sample().encode().unwrap();
    let model = Model::parse(&blob).unwrap();
    let shape = GemmShape::new(512, 301, 1024, 1);
    let steps: Vec<_> = model.path(CLASS, shape).collect();
    let product = 512 * 301 * 1024;
    let first =
        Step { index: 0, feature: Feature::Mnk, value: product, threshold: 1 << 20, left: false };
    let second = Step { index: 4, feature: Feature::K, value: 301, threshold: 300, left: false };
    assert_eq!(steps, [first, second]);
    assert_eq!(model.select(CLASS, shape).first(), KernelId(4));
}

#[test]
fn whatever_cannot_run_the_choice_can() {
    let blob = sample().encode().unwrap();
    let model = Model::parse(&blob).unwrap();
    let shape = GemmShape::new(512, 301, 1024, 1);
    let choice = |mask| model.select(CLASS, shape).best_of(mask);
    let mut usable = KernelMask::ALL;
    for (unusable, next) in [(4, 2), (2, 1), (1, 0), (0, 0)] {
        usable = usable.without(KernelId(unusable));
        assert_eq!(choice(usable), KernelId(next));
        assert!(usable.contains(choice(usable)));
    }
}

#[test]
fn shares_become_scores_and_back() {
    for (share, score) in [
        (0.0, 0),
        (1.0, 10_000),
        (0.93214, 9_321),
        (0.93215, 9_322),
        (-1.0, 0),
        (7.0, 10_000),
        (f64::NAN, 0),
    ] {
        assert_eq!(Score::from_share(share), Score(score), "{share}");
    }
    assert_eq!(Score(9_321).share(), 0.9321);
}

/// The trees of `source` as a model's entries say them.
fn rebuilt(model: &Model<'_>, index: usize) -> Tree {
    match model.node(index).unwrap() {
        Node::Leaf(leaf) => Tree::Leaf(leaf),
        Node::Split { feature, threshold, right } => {
            split(feature, threshold, rebuilt(model, index + 1), rebuilt(model, right.into()))
        }
    }
}

proptest! {
    #[test]
    fn a_model_selects_as_its_tree_does(
        trees in prop::collection::vec(any_tree(9), 1..4),
        shapes in prop::collection::vec(shape(), 32),
        unusable in any::<u64>(),
    ) {
        let source = source(9, trees);
        let blob = source.encode().unwrap();
        let model = Model::parse(&blob).unwrap();
        let usable = (0..64)
            .filter(|id| unusable >> id & 1 == 1)
            .fold(KernelMask::ALL, |mask, id| mask.without(KernelId(id)));
        for (class, tree) in ProblemClass::all().zip(&source.trees) {
            for shape in shapes.iter().copied().chain(shapes_near(tree)) {
                let answer = model.select(class, shape);
                prop_assert_eq!(answer, plain_select(tree, shape));
                prop_assert!(usable.contains(answer.best_of(usable)));
                let last = model.path(class, shape).last();
                let end = last.map_or(model.root(class).unwrap(), |step| end_of(&model, step));
                prop_assert_eq!(model.node(end), Some(Node::Leaf(answer)));
            }
        }
    }

    #[test]
    fn at_most_compares_the_feature_itself(
        feature in feature(), shape in shape(), other in shape(), any in any::<u64>()
    ) {
        let value = feature.of(shape);
        prop_assert_eq!(value, plain_value(feature, shape));
        let near = [value.saturating_sub(1), value, value.saturating_add(1)];
        for threshold in near.into_iter().chain([0, feature.of(other), any, u64::MAX]) {
            prop_assert_eq!(feature.at_most(shape, threshold), value <= threshold);
        }
    }

    #[test]
    fn what_is_written_is_read(
        device in ".{0,40}", driver in ".{0,40}", method in ".{0,40}",
        space in any::<Option<u64>>(), score in prop::option::of(0u16..=10_000),
        count in 5usize..=63, trees in prop::collection::vec(any_tree(5), 1..4),
        measured in 0u8..8,
    ) {
        let mut written: ModelSource<'_> = source(count, trees);
        (written.device, written.driver, written.method) = (&device, &driver, &method);
        (written.space, written.score) = (space, score.map(Score));
        let guest = ProblemClass::from_index(7).unwrap();
        let measured_as = ProblemClass::from_index(measured).unwrap();
        written.classes.push(TreeSource { class: guest, measured_as, tree: 0 });
        let blob = written.encode().unwrap();
        prop_assert_eq!(&written.encode().unwrap(), &blob);

        let read = Model::parse(&blob).unwrap();
        prop_assert_eq!((read.device(), read.driver(), read.method()), (&device[..], &driver[..], &method[..]));
        prop_assert_eq!((read.space(), read.score()), (written.space, written.score));
        prop_assert_eq!(read.kernels(), &written.kernels);
        for class in &written.classes {
            prop_assert_eq!(read.measured_as(class.class), Some(class.measured_as));
            let root = read.root(class.class).unwrap();
            prop_assert_eq!(&rebuilt(&read, root), &written.trees[class.tree]);
        }
        let leaves: usize = written.trees.iter().map(Tree::leaves).sum();
        prop_assert_eq!(read.entries(), 2 * leaves - written.trees.len());
    }

    #[test]
    fn a_shape_survives_its_text(shape in shape()) {
        prop_assert_eq!(shape.to_string().parse(), Ok(shape));
    }
}

/// The entry that a step leads to.
fn end_of(model: &Model<'_>, step: Step) -> usize {
    match model.node(step.index) {
        Some(Node::Split { right, .. }) if !step.left => right.into(),
        _ => step.index + 1,
    }
}
