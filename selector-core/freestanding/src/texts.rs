//! Texts read and written.

use core::fmt::{self, Display, Write as _};
use core::str;

use selector_core::{
    CapacityError, Feature, GemmShape, KernelId, ModelError, NodeError, ParseTextError,
    ProblemClass,
};

/// A shape, a class or a feature from 16 bytes of text; which of them it is.
#[unsafe(no_mangle)]
pub extern "C" fn gemmtree_from_text(bytes: &[u8; 16]) -> u32 {
    let text = str::from_utf8(bytes).unwrap_or("").trim_end_matches(['\0']);
    let shape = text.parse::<GemmShape>().map(|shape| shape.m ^ shape.batch);
    let class = || text.parse::<ProblemClass>().map(|class| u32::from(class.index()));
    let feature = || text.parse::<Feature>().map(|feature| u32::from(feature.index()));
    shape.or_else(|_| class()).or_else(|_| feature()).unwrap_or(u32::MAX)
}

/// Counts what is written to it.
struct Length(usize);

impl fmt::Write for Length {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 = self.0.wrapping_add(text.len());
        Ok(())
    }
}

fn length(value: impl Display) -> usize {
    let mut length = Length(0);
    let written = write!(length, "{value}");
    written.map_or(0, |()| length.0)
}

/// The length of a model error's text.
#[unsafe(no_mangle)]
pub extern "C" fn gemmtree_model_error_text(error: &ModelError) -> usize {
    length(error)
}

/// The length of a node error's text.
#[unsafe(no_mangle)]
pub extern "C" fn gemmtree_node_error_text(error: &NodeError) -> usize {
    length(error)
}

/// The length of a capacity error's text.
#[unsafe(no_mangle)]
pub extern "C" fn gemmtree_capacity_error_text(error: &CapacityError) -> usize {
    length(error)
}

/// The length of a text error's text.
#[unsafe(no_mangle)]
pub extern "C" fn gemmtree_text_error_text(error: &ParseTextError) -> usize {
    length(error)
}

/// The length of a shape's text.
#[unsafe(no_mangle)]
pub extern "C" fn gemmtree_shape_text(shape: &GemmShape) -> usize {
    length(shape)
}

/// The length of a class's text.
#[unsafe(no_mangle)]
pub extern "C" fn gemmtree_class_text(class: &ProblemClass) -> usize {
    length(class)
}

/// The length of a feature's text.
#[unsafe(no_mangle)]
pub extern "C" fn gemmtree_feature_text(feature: &Feature) -> usize {
    length(feature)
}

/// The length of a kernel id's text.
#[unsafe(no_mangle)]
pub extern "C" fn gemmtree_kernel_text(kernel: u8) -> usize {
    length(KernelId(kernel))
}
