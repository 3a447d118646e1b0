//! What must hold of every model that was accepted.

use std::fmt::Debug;

use selector_core::{
    CallSite, CapacityError, FastTree, GemmShape, KernelId, KernelMask, Leaf, MAX_DEPTH,
    MAX_ENTRIES, MAX_FEATURES, MAX_KERNELS, Model, Node, ProblemClass, Score,
};

use crate::Questions;
use crate::plain::{plain_value, plain_walk, shape_of};

/// Splits of a tree that holds any input's, and of one that often is too small.
const LARGE: usize = 1024;
const SMALL: usize = 6;
/// Splits of a tree whose thresholds are asked for.
const PROBED: usize = 6;

/// Everything that FORMAT.md §7 promises of a checked model.
pub fn check_model(model: &Model<'_>) {
    check_kernels(model);
    assert!(model.features().len() <= MAX_FEATURES);
    assert!(model.score().is_none_or(|score| score <= Score::PERFECT));
    assert!(model.entries() <= MAX_ENTRIES);
    assert_eq!(model.node(model.entries()), None);
    assert_eq!(model.node(usize::MAX), None);
    let mut reached = vec![0; model.entries()];
    let mut roots: Vec<_> = ProblemClass::all().filter_map(|class| model.root(class)).collect();
    roots.sort_unstable();
    roots.dedup();
    for root in roots {
        reach(model, root, &mut reached);
    }
    assert!(reached.iter().all(|times| *times == 1), "each entry is reached once: {reached:?}");
    for class in ProblemClass::all() {
        assert_eq!(model.root(class).is_some(), model.measured_as(class).is_some());
    }
}

fn check_kernels(model: &Model<'_>) {
    let count = model.kernels().len();
    assert!(count <= MAX_KERNELS);
    assert_eq!(model.kernels().count(), count, "every configuration decodes");
    assert_eq!(model.kernel(KernelId::UNIVERSAL), None);
    assert_eq!(model.kernel(KernelId(count as u8 + 1)), None);
    assert_eq!(model.kernel(KernelId(u8::MAX)), None);
    assert_eq!(model.kernel(KernelId(count as u8)), model.kernels().last());
}

/// Count each entry of the tree at `root`, and check it.
fn reach(model: &Model<'_>, root: usize, reached: &mut [u8]) {
    let mut pending = vec![(root, 0)];
    while let Some((index, depth)) = pending.pop() {
        assert!(depth <= MAX_DEPTH);
        reached[index] += 1;
        match model.node(index).expect("every entry is a node") {
            Node::Leaf(leaf) => check_leaf(model, leaf),
            Node::Split { feature, threshold, right } => {
                assert!(model.features().contains(&feature));
                assert!(threshold < feature.largest());
                pending.push((right.into(), depth + 1));
                pending.push((index + 1, depth + 1));
            }
        }
    }
}

fn check_leaf(model: &Model<'_>, leaf: Leaf) {
    let ids: Vec<_> = leaf.kernels().collect();
    let (last, ranked) = ids.split_last().expect("a leaf ranks at least one kernel");
    assert_eq!(*last, KernelId::UNIVERSAL);
    assert_eq!(leaf.first(), ids[0]);
    for (place, id) in ranked.iter().enumerate() {
        assert!((1..=model.kernels().len()).contains(&id.0.into()), "{id} is in the list");
        assert!(!ranked[..place].contains(id), "{id} is there once");
    }
}

/// Every way to ask gives the same answer, and it ends in a kernel that may run.
pub fn check_answers(model: &Model<'_>, questions: &Questions) {
    let mut trees = vec![];
    for class in ProblemClass::all() {
        // Classes that share a tree differ in little.
        let root = model.root(class);
        if trees.contains(&root) {
            for shape in questions.shapes {
                check_walks(model, class, shape);
            }
            continue;
        }
        trees.push(root);
        let (splits, probes) = survey(model, class);
        let large = FastTree::<LARGE>::new(model, class);
        let large = fitting::<LARGE, _>(large, splits);
        let small = fitting::<SMALL, _>(FastTree::<SMALL>::new(model, class), splits);
        let mut site = large.as_ref().map(CallSite::new);
        for shape in questions.shapes.into_iter().chain(probes) {
            let leaf = check_walks(model, class, shape);
            check_leaf(model, leaf);
            let kernel = leaf.best_of(questions.usable);
            assert!(questions.usable.contains(kernel));
            assert!(leaf.kernels().any(|id| id == kernel));
            assert_eq!(leaf.best_of(KernelMask::NONE), KernelId::UNIVERSAL);
            assert_eq!(leaf.best_of(KernelMask::ALL), leaf.first());
            if let Some(tree) = &small {
                check_fast(tree, shape, leaf, questions.usable);
            }
            if let (Some(tree), Some(site)) = (&large, &mut site) {
                check_fast(tree, shape, leaf, questions.usable);
                for _call in 0..2 {
                    assert_eq!(site.choose(shape), tree.choose(shape));
                    assert_eq!(site.select(shape), leaf);
                }
            }
        }
    }
}

/// The fast tree, if it should be there; the capacity decides, and the error names it.
fn fitting<const SPLITS: usize, T: Debug>(
    tree: Result<T, CapacityError>,
    need: usize,
) -> Option<T> {
    assert_eq!(
        tree.as_ref().err().copied(),
        match need > SPLITS {
            true => Some(CapacityError { need, have: SPLITS }),
            false => None,
        }
    );
    tree.ok()
}

/// The number of splits in the tree of a class, and shapes around some of its thresholds.
fn survey(model: &Model<'_>, class: ProblemClass) -> (usize, Vec<GemmShape>) {
    let mut splits = vec![];
    let mut pending: Vec<_> = model.root(class).into_iter().collect();
    while let Some(index) = pending.pop() {
        if let Some(Node::Split { feature, threshold, right }) = model.node(index) {
            splits.push((feature, threshold));
            pending.extend([usize::from(right), index + 1]);
        }
    }
    let step = splits.len().div_ceil(PROBED).max(1);
    let probed = splits.iter().step_by(step);
    let probes = probed.flat_map(|(feature, threshold)| {
        let values = [threshold.saturating_sub(1), *threshold, threshold + 1];
        values.map(|value| shape_of(*feature, value))
    });
    (splits.len(), probes.collect())
}

/// The model's own ways: `select`, `path` and `explain`.
fn check_walks(model: &Model<'_>, class: ProblemClass, shape: GemmShape) -> Leaf {
    let leaf = model.select(class, shape);
    let root = model.root(class);
    assert_eq!(leaf, root.map_or(Leaf::UNIVERSAL, |root| plain_walk(model, root, shape)));
    let why = model.explain(class, shape);
    assert!(model.path(class, shape).eq(why.path.iter().copied()));
    assert_eq!((why.class, why.shape, why.leaf), (class, shape, leaf));
    assert_eq!(why.measured_as, model.measured_as(class));
    assert_eq!(why.runner_up(), leaf.kernels().nth(1).unwrap_or(KernelId::UNIVERSAL));
    let mut next = root;
    for step in &why.path {
        assert_eq!(Some(step.index), next);
        let Some(Node::Split { feature, threshold, right }) = model.node(step.index) else {
            panic!("a step is a split");
        };
        assert_eq!((step.feature, step.threshold), (feature, threshold));
        assert_eq!(step.value, plain_value(feature, shape));
        assert_eq!(step.left, step.value <= threshold);
        assert!(step.margin() >= 1);
        next = Some(if step.left { step.index + 1 } else { right.into() });
    }
    assert_eq!(next.and_then(|end| model.node(end)), root.map(|_| Node::Leaf(leaf)));
    assert_eq!(why.closest().is_some(), !why.path.is_empty());
    leaf
}

fn check_fast<const SPLITS: usize>(
    tree: &FastTree<'_, SPLITS>,
    shape: GemmShape,
    leaf: Leaf,
    usable: KernelMask,
) {
    let choice = tree.choose(shape);
    assert_eq!(choice.first(), leaf.first());
    assert_eq!(choice.best_of(usable), leaf.best_of(usable));
    assert_eq!(choice.best_of(KernelMask::NONE), KernelId::UNIVERSAL);
    assert_eq!(tree.leaf(choice), leaf);
    assert_eq!(tree.select(shape), leaf);
}
