//! What a device calls of `selector-core`, under C names, to prove by linking that it can neither
//! panic nor allocate.
//!
//! The panic handler calls a function that nobody defines, and there is no allocator. A program
//! that links with these functions as its roots and unused sections left out therefore cannot
//! reach a panic. `tests/freestanding.rs` links it for three targets and counts the bytes.
#![no_std]

use core::mem::MaybeUninit;
use core::panic::PanicInfo;
use core::slice;

use selector_core::{
    CallSite, Choice, Explanation, FastTree, Feature, GemmShape, KernelId, KernelMask, Leaf, Model,
    Node, PackedConfig, ProblemClass, Step,
};

pub mod accessors;
#[cfg(any(feature = "panicking-index", feature = "with-vec"))]
pub mod mistakes;
pub mod texts;

type Tree = FastTree<'static, 256>;

/// Reached by a panic; nobody defines it.
#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    // SAFETY: the signature is that of no function at all; a program with the call does not link.
    unsafe extern "C" {
        safe fn gemmtree_panic_is_reachable() -> !;
    }
    gemmtree_panic_is_reachable()
}

fn class(number: u8) -> ProblemClass {
    ProblemClass::from_index(number).unwrap_or(ProblemClass::F32_NN)
}

/// [`Model::parse`]; whether `model` was written.
///
/// # Safety
/// `length` bytes at `blob` stay readable and unchanged.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gemmtree_parse(
    blob: *const u8,
    length: usize,
    model: &mut MaybeUninit<Model<'static>>,
) -> bool {
    // SAFETY: the caller vouches for it.
    let blob = unsafe { slice::from_raw_parts(blob, length) };
    Model::parse(blob).map(|parsed| model.write(parsed)).is_ok()
}

/// [`Model::select`].
#[unsafe(no_mangle)]
pub extern "C" fn gemmtree_select(
    model: &Model<'static>,
    number: u8,
    shape: &GemmShape,
    leaf: &mut Leaf,
) {
    *leaf = model.select(class(number), *shape);
}

/// [`Leaf::best_of`], all kernels but `without` allowed.
#[unsafe(no_mangle)]
pub extern "C" fn gemmtree_best_of(leaf: &Leaf, without: u8) -> u8 {
    let usable = KernelMask::ALL.without(KernelId(without));
    leaf.best_of(usable.with(leaf.first())).0
}

/// [`KernelMask::contains`], in a mask of one kernel.
#[unsafe(no_mangle)]
pub extern "C" fn gemmtree_contains(only: u8, asked: u8) -> bool {
    KernelMask::NONE.with(KernelId(only)).contains(KernelId(asked))
}

/// [`Leaf::kernels`]; the last of them.
#[unsafe(no_mangle)]
pub extern "C" fn gemmtree_leaf_kernels(leaf: &Leaf) -> u8 {
    leaf.kernels().last().map_or(0, |kernel| kernel.0)
}

/// [`Model::kernels`]; the number of parameters of them all.
#[unsafe(no_mangle)]
pub extern "C" fn gemmtree_kernels(model: &Model<'static>) -> usize {
    let kernels = model.kernels();
    let first = kernels.len();
    kernels.fold(first, |all, config| all.wrapping_add(config.parameters.len()))
}

/// [`Model::kernel`]; whether `config` was written.
#[unsafe(no_mangle)]
pub extern "C" fn gemmtree_kernel(
    model: &Model<'static>,
    id: u8,
    config: &mut MaybeUninit<PackedConfig>,
) -> bool {
    model.kernel(KernelId(id)).map(|found| config.write(found)).is_some()
}

/// [`Model::node`] from the root of a class on; whether `node` was written.
#[unsafe(no_mangle)]
pub extern "C" fn gemmtree_node(
    model: &Model<'static>,
    number: u8,
    below: usize,
    node: &mut MaybeUninit<Node>,
) -> bool {
    let Some(root) = model.root(class(number)) else { return false };
    model.node(root.wrapping_add(below)).map(|found| node.write(found)).is_some()
}

/// [`Model::path`]; the length of the path and its last step.
#[unsafe(no_mangle)]
pub extern "C" fn gemmtree_path(
    model: &Model<'static>,
    number: u8,
    shape: &GemmShape,
    last: &mut MaybeUninit<Step>,
) -> usize {
    let mut steps = 0;
    for step in model.path(class(number), *shape) {
        last.write(step);
        steps += 1;
    }
    steps
}

/// [`Model::explain`].
#[unsafe(no_mangle)]
pub extern "C" fn gemmtree_explain(
    model: &Model<'static>,
    number: u8,
    shape: &GemmShape,
    explanation: &mut MaybeUninit<Explanation>,
) {
    explanation.write(model.explain(class(number), *shape));
}

/// [`Explanation::runner_up`].
#[unsafe(no_mangle)]
pub extern "C" fn gemmtree_runner_up(explanation: &Explanation) -> u8 {
    explanation.runner_up().0
}

/// [`Explanation::closest`] and [`Step::margin`]; 0 without a step.
#[unsafe(no_mangle)]
pub extern "C" fn gemmtree_closest(explanation: &Explanation) -> u16 {
    explanation.closest().map_or(0, Step::margin)
}

/// [`FastTree::new`]; whether `tree` was written.
#[unsafe(no_mangle)]
pub extern "C" fn gemmtree_tree(
    model: &Model<'static>,
    number: u8,
    tree: &mut MaybeUninit<Tree>,
) -> bool {
    FastTree::new(model, class(number)).map(|built| tree.write(built)).is_ok()
}

/// [`FastTree::load`] into a tree that is [`FastTree::empty`] or was loaded before; the splits that
/// [`Model::splits`] counts.
#[unsafe(no_mangle)]
pub extern "C" fn gemmtree_tree_load(tree: &mut Tree, model: &Model<'static>, number: u8) -> usize {
    if tree.load(model, class(number)).is_err() {
        *tree = FastTree::empty();
    }
    model.splits(class(number))
}

/// [`FastTree::choose`].
#[unsafe(no_mangle)]
pub extern "C" fn gemmtree_tree_choose(tree: &Tree, shape: &GemmShape, choice: &mut Choice) {
    *choice = tree.choose(*shape);
}

/// [`FastTree::select`].
#[unsafe(no_mangle)]
pub extern "C" fn gemmtree_tree_select(tree: &Tree, shape: &GemmShape, leaf: &mut Leaf) {
    *leaf = tree.select(*shape);
}

/// [`FastTree::leaf`].
#[unsafe(no_mangle)]
pub extern "C" fn gemmtree_tree_leaf(tree: &Tree, choice: &Choice, leaf: &mut Leaf) {
    *leaf = tree.leaf(*choice);
}

/// [`Choice::best_of`], all kernels but `without` allowed.
#[unsafe(no_mangle)]
pub extern "C" fn gemmtree_choice_best_of(choice: &Choice, without: u8) -> u8 {
    let usable = KernelMask::ALL.without(KernelId(without));
    let last = choice.kernels().last().unwrap_or(KernelId::UNIVERSAL);
    choice.best_of(usable.with(choice.first()).with(last)).0
}

/// [`CallSite::new`].
#[unsafe(no_mangle)]
pub extern "C" fn gemmtree_site(
    tree: &'static Tree,
    site: &mut MaybeUninit<CallSite<'static, 'static, 256>>,
) {
    site.write(CallSite::new(tree));
}

/// [`CallSite::choose`].
#[unsafe(no_mangle)]
pub extern "C" fn gemmtree_site_choose(
    site: &mut CallSite<'static, 'static, 256>,
    shape: &GemmShape,
    choice: &mut Choice,
) {
    *choice = site.choose(*shape);
}

/// [`CallSite::select`].
#[unsafe(no_mangle)]
pub extern "C" fn gemmtree_site_select(
    site: &mut CallSite<'static, 'static, 256>,
    shape: &GemmShape,
    leaf: &mut Leaf,
) {
    *leaf = site.select(*shape);
}

/// [`Feature::of`].
#[unsafe(no_mangle)]
pub extern "C" fn gemmtree_feature_of(feature: Feature, shape: &GemmShape) -> u16 {
    feature.of(*shape)
}
