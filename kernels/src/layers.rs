//! What a network does beside multiplying: columns of a convolution (im2col), bias and ReLU, pooling.
//! No family: nothing here is part of the [kernel space](crate::space) or of its hash.

/// OpenCL C of the kernel functions of [`FUNCTIONS`]; no build options.
pub const SOURCE: &str = include_str!("../cl/layers.cl");

/// The kernel functions.
pub const FUNCTIONS: [&str; 3] = ["columns", "bias", "pool"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::families;

    #[test]
    fn the_source_has_the_functions_and_no_family_is_made_of_it() {
        for name in FUNCTIONS {
            assert!(SOURCE.contains(&format!("kernel void {name}(")), "{name}");
        }
        assert!(families::ALL.iter().all(|family| !family.source().contains(SOURCE)));
    }
}
