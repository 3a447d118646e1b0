//! What a model answers is what its trees say.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{
    any_trees, feature, leaf, plain_select, plain_value, sample, shape, shape_of, shapes_near,
    source, split,
};
use proptest::prelude::*;
use selector_core::{
    CallSite, CapacityError, FastTree, Feature, GemmShape, KernelId, KernelMask, Leaf, Model,
    ModelSource, Node, ProblemClass, Score, Step, Tree, TreeSource,
};

const CLASS: ProblemClass = ProblemClass::F32_NN;

#[test]
fn small_m_goes_left_and_large_m_goes_right() {
    let blob = source(2, vec![split(Feature::M, 48, leaf(&[1]), leaf(&[2]))]).encode().unwrap();
    let model = Model::parse(&blob).unwrap();
    let first = |m| model.select(CLASS, GemmShape::new(m, 7, 7, 1)).first();
    assert_eq!([0, 1, 63, 64, 71, 72, u32::MAX].map(first), [1, 1, 1, 1, 1, 2, 2].map(KernelId));
}

#[test]
fn a_threshold_is_met_exactly_by_every_feature() {
    for feature in Feature::ALL {
        for wanted in [1, 24, 65, 128, 199, 255, 256, 300, 511, 700] {
            let shape = shape_of(feature, wanted);
            let value = feature.of(shape);
            let thresholds = [(value.wrapping_sub(1), 2), (value, 1), (value + 1, 1)];
            for (threshold, kernel) in thresholds {
                if threshold >= feature.largest() {
                    continue;
                }
                let tree = split(feature, threshold, leaf(&[1]), leaf(&[2]));
                let blob = source(2, vec![tree]).encode().unwrap();
                let model = Model::parse(&blob).unwrap();
                let answer = model.select(CLASS, shape).first();
                assert_eq!(answer, KernelId(kernel), "{feature} of {shape} at {threshold}");
                let fast = FastTree::<1>::new(&model, CLASS).unwrap();
                assert_eq!(fast.choose(shape).first(), answer);
            }
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
    let first = Step { index: 0, feature: Feature::Mnk, value: 217, threshold: 160, left: false };
    let second = Step { index: 4, feature: Feature::K, value: 65, threshold: 65, left: true };
    assert_eq!(steps, [first, second]);
    let why = model.explain(CLASS, shape);
    assert_eq!(why.path[..], steps);
    assert_eq!((why.class, why.measured_as, why.shape), (CLASS, Some(CLASS), shape));
    assert_eq!((why.closest(), second.margin(), first.margin()), (Some(second), 1, 57));
    assert_eq!((why.leaf.first(), why.runner_up()), (KernelId(3), KernelId::UNIVERSAL));
    let why = model.explain(CLASS, GemmShape::new(512, 320, 1024, 1));
    assert_eq!((why.leaf.first(), why.runner_up()), (KernelId(4), KernelId(2)));
    let none = model.explain(ProblemClass::from_index(5).unwrap(), shape);
    assert_eq!((none.measured_as, none.closest(), none.runner_up()), (None, None, KernelId(0)));
}

#[test]
fn whatever_cannot_run_the_choice_can() {
    let blob = sample().encode().unwrap();
    let model = Model::parse(&blob).unwrap();
    let shape = GemmShape::new(512, 320, 1024, 1);
    let fast = FastTree::<3>::new(&model, CLASS).unwrap();
    let choice = |mask| {
        let kernel = model.select(CLASS, shape).best_of(mask);
        assert_eq!(fast.choose(shape).best_of(mask), kernel);
        kernel
    };
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

/// A model's tree of a class, fast.
fn fast<'a>(model: &Model<'a>, class: ProblemClass) -> Box<FastTree<'a, 1024>> {
    Box::new(FastTree::new(model, class).unwrap())
}

#[test]
fn a_capacity_too_small_names_need_and_have() {
    let blob = sample().encode().unwrap();
    let model = Model::parse(&blob).unwrap();
    let error = FastTree::<2>::new(&model, CLASS).unwrap_err();
    assert_eq!(error, CapacityError { need: 3, have: 2 });
    assert_eq!(
        error.to_string(),
        "the tree has 3 splits, but this build holds 2; raise the capacity"
    );
    let one_split = ProblemClass::from_index(1).unwrap();
    assert!(FastTree::<1>::new(&model, one_split).is_ok());
    let error = FastTree::<0>::new(&model, one_split).unwrap_err();
    assert_eq!(error, CapacityError { need: 1, have: 0 });
    let none = ProblemClass::from_index(5).unwrap();
    let universal = FastTree::<0>::new(&model, none).unwrap();
    assert_eq!(universal.select(GemmShape::new(1, 2, 3, 4)), Leaf::UNIVERSAL);
    assert_eq!(universal.choose(GemmShape::new(1, 2, 3, 4)).first(), KernelId::UNIVERSAL);
}

#[test]
fn a_tree_loaded_again_forgets_the_one_before() {
    let blob = sample().encode().unwrap();
    let model = Model::parse(&blob).unwrap();
    let mut tree = Box::new(FastTree::<3>::empty());
    let shapes = || [1, 2, 300, 5000].map(|m| GemmShape::new(m, 320, 700, m));
    assert!(shapes().iter().all(|shape| tree.select(*shape) == Leaf::UNIVERSAL));
    let classes = [0, 1, 5, 1, 0].map(|class| ProblemClass::from_index(class).unwrap());
    for class in classes {
        tree.load(&model, class).unwrap();
        for shape in shapes() {
            assert_eq!(tree.select(shape), model.select(class, shape), "{class} {shape}");
        }
    }
    // A tree that does not fit leaves the one before.
    let large = common::source(
        2,
        vec![(0..9).fold(leaf(&[1]), |tree, key| split(Feature::M, 10 * key, tree, leaf(&[2])))],
    );
    let blob = large.encode().unwrap();
    let error = tree.load(&Model::parse(&blob).unwrap(), CLASS).unwrap_err();
    assert_eq!(error, CapacityError { need: 9, have: 3 });
    for shape in shapes() {
        assert_eq!(tree.select(shape), model.select(CLASS, shape));
        let choice: Vec<_> = tree.choose(shape).kernels().collect();
        assert_eq!(choice, model.select(CLASS, shape).kernels().collect::<Vec<_>>());
    }
}

#[test]
fn a_call_site_answers_for_the_shape_it_is_given() {
    let blob = sample().encode().unwrap();
    let model = Model::parse(&blob).unwrap();
    let fast = fast(&model, CLASS);
    let mut site = CallSite::new(&*fast);
    let shapes = [1, 1, 5000, 5000, 1].map(|m| GemmShape::new(m, 320, 700, 1));
    let more = [GemmShape::new(1, 1, 1, 1), GemmShape::new(1, 1, 1, 2), GemmShape::new(1, 1, 2, 2)];
    for shape in shapes.into_iter().chain(more) {
        assert_eq!(site.select(shape), model.select(CLASS, shape));
        assert_eq!(site.choose(shape), fast.choose(shape));
    }
}

proptest! {
    #[test]
    fn a_model_selects_as_its_tree_does(
        trees in any_trees(9),
        shapes in prop::collection::vec(shape(), 32),
        unusable in any::<u128>(),
    ) {
        let source = source(9, trees);
        let blob = source.encode().unwrap();
        let model = Model::parse(&blob).unwrap();
        let usable = (0..128)
            .filter(|id| unusable >> id & 1 == 1)
            .fold(KernelMask::ALL, |mask, id| mask.without(KernelId(id)));
        for (class, tree) in ProblemClass::all().zip(&source.trees) {
            let fast = fast(&model, class);
            for shape in shapes.iter().copied().chain(shapes_near(tree)) {
                let answer = model.select(class, shape);
                prop_assert_eq!(answer, plain_select(tree, shape));
                prop_assert_eq!(fast.select(shape), answer);
                prop_assert_eq!(fast.choose(shape).first(), answer.first());
                prop_assert_eq!(fast.choose(shape).best_of(usable), answer.best_of(usable));
                prop_assert!(usable.contains(answer.best_of(usable)));
                let last = model.path(class, shape).last();
                let end = last.map_or(model.root(class).unwrap(), |step| end_of(&model, step));
                prop_assert_eq!(model.node(end), Some(Node::Leaf(answer)));
            }
        }
    }

    #[test]
    fn a_feature_is_what_the_format_says(feature in feature(), shape in shape()) {
        prop_assert_eq!(feature.of(shape), plain_value(feature, shape));
    }

    #[test]
    fn what_is_written_is_read(
        device in ".{0,40}", driver in ".{0,40}", method in ".{0,40}",
        space in any::<Option<u64>>(), score in prop::option::of(0u16..=10_000),
        count in 5usize..=127, trees in any_trees(5),
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
        prop_assert_eq!(&read.kernels().collect::<Vec<_>>(), &written.kernels);
        prop_assert_eq!(read.kernel(KernelId(5)), Some(written.kernels[4].clone()));
        prop_assert_eq!(read.kernel(KernelId(0)), None);
        prop_assert_eq!(read.kernel(KernelId(count as u8 + 1)), None);
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
