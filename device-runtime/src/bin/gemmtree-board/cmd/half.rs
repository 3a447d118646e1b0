//! What to tell of the classes `f16h` on a device without 16-bit arithmetic.

use device_runtime::collect::About;
use selector_core::{Precision, ProblemClass};

/// The warning, if one of `classes` is such a class and the device has none.
pub(super) fn warning(
    device: &About,
    classes: impl IntoIterator<Item = ProblemClass>,
) -> Option<String> {
    let half = classes.into_iter().find(|class| class.precision == Precision::F16Half)?;
    let instead = ProblemClass::new(Precision::F16, half.transposes);
    (!device.half_arithmetic).then(|| {
        format!(
            "warning: `{}` has no arithmetic in 16 bits (cl_khr_fp16), so class {half} is computed \
             as {instead} there",
            device.name
        )
    })
}
