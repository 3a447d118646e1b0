//! A tree of linfa-trees fitted to the model's answers, asked one row at a time.

use std::ffi::c_void;
use std::ptr;

use anyhow::Context;
use linfa::Dataset;
use linfa::traits::{Fit, Predict};
use linfa_trees::DecisionTree;
use ndarray::{Array1, Array2};
use selector_core::{GemmShape, Model};

use super::{CLASS, Contexts, Way};
use crate::shapes::shuffled;

/// Streams of 4096 shapes that it is fitted to.
const STREAMS: u64 = 4;

struct Tree {
    tree: DecisionTree<f64, usize>,
    features: Vec<selector_core::Feature>,
}

impl Tree {
    fn row(&self, shape: GemmShape) -> impl Iterator<Item = f64> {
        self.features.iter().map(move |feature| f64::from(feature.of(shape)))
    }

    fn choose(&self, shape: GemmShape) -> usize {
        let row: Vec<f64> = self.row(shape).collect();
        let row = Array2::from_shape_vec((1, row.len()), row).unwrap_or_default();
        self.tree.predict(&row).first().copied().unwrap_or(0)
    }
}

pub(super) fn tree<'a>(model: &'a Model<'a>) -> anyhow::Result<Way<'a>> {
    extern "C" fn choose(context: *mut c_void, m: u32, k: u32, n: u32, batch: u32) -> u8 {
        // SAFETY: the context is the tree below, which the way keeps.
        #[allow(unsafe_code, reason = "the context of a foreign function")]
        let tree = unsafe { &*context.cast::<Tree>() };
        tree.choose(GemmShape::new(m, k, n, batch)) as u8
    }
    let shapes: Vec<_> = (0..STREAMS).flat_map(|seed| shuffled(seed)()).collect();
    let features = model.features().to_vec();
    let rows = Array2::from_shape_fn((shapes.len(), features.len()), |(row, column)| {
        f64::from(features[column].of(shapes[row]))
    });
    let labels: Array1<usize> =
        shapes.iter().map(|shape| model.select(CLASS, *shape).first().0.into()).collect();
    let fitted = DecisionTree::params().fit(&Dataset::new(rows, labels)).context("linfa")?;
    let tree = Box::new(Tree { tree: fitted, features });
    let contexts = Contexts::One(ptr::from_ref(&*tree).cast_mut().cast());
    Ok(Way { name: "linfa", exact: false, choose, contexts, _keep: tree })
}
