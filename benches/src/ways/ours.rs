//! The selector's own ways.

use std::ffi::c_void;
use std::ptr;

use anyhow::Context;
use selector_core::{CallSite, FastTree, GemmShape, Model};

use super::{CLASS, Contexts, Way};
use crate::shapes::LAYERS;

/// Splits that fit; the large model has 1199.
const SPLITS: usize = 1280;

/// The walk down the blob.
pub(super) fn walk<'a>(model: &'a Model<'a>) -> Way<'a> {
    extern "C" fn choose(context: *mut c_void, m: u32, k: u32, n: u32, batch: u32) -> u8 {
        // SAFETY: the context is the model below, which outlives the way.
        #[allow(unsafe_code, reason = "the context of a foreign function")]
        let model = unsafe { &*context.cast::<Model<'_>>() };
        model.select(CLASS, GemmShape::new(m, k, n, batch)).first().0
    }
    let contexts = Contexts::One(ptr::from_ref(model).cast_mut().cast());
    Way { name: "walk", exact: true, choose, contexts, _keep: Box::new(()) }
}

/// The unpacked tree, without memory of other calls.
pub(super) fn fast<'a>(model: &'a Model<'a>) -> anyhow::Result<Way<'a>> {
    extern "C" fn choose(context: *mut c_void, m: u32, k: u32, n: u32, batch: u32) -> u8 {
        // SAFETY: the context is the tree below, which the way keeps.
        #[allow(unsafe_code, reason = "the context of a foreign function")]
        let tree = unsafe { &*context.cast::<FastTree<'_, SPLITS>>() };
        tree.choose(GemmShape::new(m, k, n, batch)).first().0
    }
    let tree = Box::new(FastTree::<SPLITS>::new(model, CLASS).context("fast tree")?);
    let contexts = Contexts::One(ptr::from_ref(&*tree).cast_mut().cast());
    Ok(Way { name: "fast", exact: true, choose, contexts, _keep: tree })
}

/// The unpacked tree behind a memo for each call site.
pub(super) fn sites<'a>(model: &'a Model<'a>) -> anyhow::Result<Way<'a>> {
    extern "C" fn choose(context: *mut c_void, m: u32, k: u32, n: u32, batch: u32) -> u8 {
        // SAFETY: the context is one of the sites below, which the way keeps and lends to one
        // call at a time.
        #[allow(unsafe_code, reason = "the context of a foreign function")]
        let site = unsafe { &mut *context.cast::<CallSite<'_, '_, SPLITS>>() };
        site.choose(GemmShape::new(m, k, n, batch)).first().0
    }
    let tree = Box::new(FastTree::<SPLITS>::new(model, CLASS).context("fast tree")?);
    // Kept beside its sites for as long as they; a benchmark may leave it to the end of the
    // program.
    let tree: &'a FastTree<'a, SPLITS> = Box::leak(tree);
    let mut sites: Box<[_; LAYERS]> = Box::new(std::array::from_fn(|_| CallSite::new(tree)));
    let contexts = Contexts::PerSite(sites.each_mut().map(|site| ptr::from_mut(site).cast()));
    Ok(Way { name: "fast-site", exact: true, choose, contexts, _keep: sites })
}
