//! Whether a failure is the configuration's own, or would have met any other.

use kernels::plan::PlanRow;
use kernels::{Configuration, Problem, Program};
use selector_core::{GemmShape, ProblemClass};

use super::{Fault, is_right};
use crate::check::cases::Pool;
use crate::{Device, DeviceError};

/// `CL_DEVICE_NOT_AVAILABLE`
const DEVICE_NOT_AVAILABLE: i32 = -2;
/// `CL_COMPILER_NOT_AVAILABLE`
const COMPILER_NOT_AVAILABLE: i32 = -3;
/// `CL_MEM_OBJECT_ALLOCATION_FAILURE`
const ALLOCATION_FAILURE: i32 = -4;
/// `CL_OUT_OF_HOST_MEMORY`
const OUT_OF_HOST_MEMORY: i32 = -6;

/// A row that takes no more than this part of the device's memory should find it.
const MODEST: u64 = 2;
/// What takes no time, and any machine that is well can do.
const PLAIN: GemmShape = GemmShape::new(8, 8, 8, 1);
const CLASS: ProblemClass = ProblemClass::F32_NN;
/// A program that any compiler builds.
const ONE_LINE: &str = "kernel void one(global int *a) { a[0] = NUMBER; }";

/// What to blame instead of `row`, which failed by `error`; `None` if it failed by itself.
pub(super) fn of<D: Device>(device: &D, row: &PlanRow, error: DeviceError) -> Option<Fault> {
    let code = match &error {
        DeviceError::Build { .. } => return builds_nothing(device).map(Fault::Machine),
        DeviceError::Call { code, .. } => *code,
        // Limits, and clocks that give no time.
        _ => return None,
    };
    let lacks = match code {
        OUT_OF_HOST_MEMORY | DEVICE_NOT_AVAILABLE | COMPILER_NOT_AVAILABLE => true,
        ALLOCATION_FAILURE => memory(row) <= device.info().memory / MODEST,
        _ => false,
    };
    if lacks { Some(Fault::Machine(error)) } else { runs_nothing(device).map(Fault::Lost) }
}

/// The row that every machine measures if it measures anything.
pub(crate) fn plain() -> PlanRow {
    let configuration = Configuration::universal();
    PlanRow { shape: PLAIN, class: CLASS, configuration, repetitions: 1 }
}

/// Bytes of the matrices and the scratch memory of a row.
fn memory(row: &PlanRow) -> u64 {
    let problem = Problem::packed(row.class, row.shape);
    let Ok(lengths) = problem.buffer_lengths() else { return u64::MAX };
    let bytes = lengths.map(|length| length.saturating_mul(row.class.element().bytes()));
    let checked = problem.check(lengths[0], lengths[1], lengths[2]);
    let scratch = checked.map_or(0, |checked| row.configuration.scratch(&checked));
    bytes.into_iter().fold(scratch, u64::saturating_add)
}

/// What to blame instead of a row whose result is wrong: the device, if the universal kernel's is wrong too.
/// Looked at anew each time.
pub(super) fn of_wrong_result<D: Device>(device: &D) -> Option<Fault> {
    let universal = Configuration::universal();
    let right = device
        .build(&universal.program(CLASS))
        .and_then(|mut kernel| is_right(device, &mut kernel, &universal, CLASS));
    match right {
        Ok(true) => None,
        Ok(false) => Some(Fault::Wrong),
        Err(error) => Some(Fault::Lost(error)),
    }
}

/// Why the compiler builds nothing, if so: each time it is given what no cache can hold.
pub(super) fn builds_nothing<D: Device>(device: &D) -> Option<DeviceError> {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let program = Program {
        name: "a kernel of one line".to_owned(),
        source: ONE_LINE,
        options: format!("-DNUMBER={number} -DPROCESS={}", std::process::id()),
        class: CLASS,
        functions: &["one"],
        scratch: false,
    };
    device.build(&program).err()
}

/// Why the device does not run even the universal kernel, if so.
fn runs_nothing<D: Device>(device: &D) -> Option<DeviceError> {
    let universal = Configuration::universal();
    let run = || -> Result<(), DeviceError> {
        let mut kernel = device.build(&universal.program(CLASS))?;
        let pool = Pool::<f32, _>::new(device, &[Problem::packed(CLASS, PLAIN)], 1)?;
        // A wrong result is told by the check of the kernels that are measured.
        pool.run(device, &mut kernel, &universal).map(|_| ())
    };
    run().err()
}

#[cfg(test)]
mod tests {
    use kernels::measurement::Status;

    use super::*;
    use crate::measure::Measurer;
    use crate::mock::Mock;

    fn row(configuration: &str) -> PlanRow {
        PlanRow { configuration: configuration.parse().unwrap(), ..plain() }
    }

    fn list(start: &str) -> Vec<String> {
        vec![start.to_owned()]
    }

    #[test]
    fn a_row_that_takes_the_device_down_and_those_after_it_are_not_told_apart_here() {
        let mut measurer = Measurer::new(Mock { deadly: list("tile:1x"), ..Mock::default() });
        let mut measure = |name: &str| measurer.measure(&row(name), |_| {}, |_| {});
        assert_eq!(measure("tile:2x1x1@8x8").unwrap().status, Status::Ok);
        for name in ["tile:1x1x1@8x8", "tile:2x1x1@8x8", "universal"] {
            assert!(matches!(measure(name), Err(Fault::Lost(_))), "{name}");
        }
    }

    #[test]
    fn a_compiler_that_builds_nothing_is_no_fault_of_a_configuration() {
        let broken = Mock { broken_compiler: true, ..Mock::default() };
        let fault = Measurer::new(broken).measure(&row("tile:1x1x1@8x8"), |_| {}, |_| {});
        assert!(matches!(fault, Err(Fault::Machine(DeviceError::Build { .. }))), "{fault:?}");
        let one = Mock { broken_builds: list("tile:1x"), ..Mock::default() };
        let row = Measurer::new(one).measure(&row("tile:1x1x1@8x8"), |_| {}, |_| {}).unwrap();
        assert_eq!(row.status, Status::BuildFailed);
    }

    #[test]
    fn a_device_that_computes_garbage_makes_no_row_wrong_though_it_was_right_before() {
        let mut measurer = Measurer::new(Mock::default());
        let mut measure = |name: &str| measurer.measure(&row(name), |_| {}, |_| {});
        assert_eq!(measure("universal").unwrap().status, Status::Ok);
        measurer.device().garbage.set(true);
        let mut measure = |name: &str| measurer.measure(&row(name), |_| {}, |_| {});
        assert_eq!(measure("tile:1x1x1@8x8"), Err(Fault::Wrong));
        assert_eq!(measure("tile:2x1x1@8x8"), Err(Fault::Wrong));
        let one = Mock { wrong_results: list("tile:1x"), ..Mock::default() };
        let row = Measurer::new(one).measure(&row("tile:1x1x1@8x8"), |_| {}, |_| {}).unwrap();
        assert_eq!(row.status, Status::WrongResult);
    }

    #[test]
    fn memory_that_should_be_there_and_is_not_is_no_fault_of_a_configuration() {
        let full = Mock { free_memory: 100, ..Mock::default() };
        let fault = Measurer::new(full).measure(&row("universal"), |_| {}, |_| {});
        assert!(matches!(fault, Err(Fault::Machine(_))), "{fault:?}");
        // A problem that takes more than half of the device's memory may just be too large.
        let mut small = Mock { free_memory: 200_000, ..Mock::default() };
        small.info.memory = 400_000;
        let large = PlanRow { shape: GemmShape::new(256, 8, 256, 1), ..row("universal") };
        let row = Measurer::new(small).measure(&large, |_| {}, |_| {});
        assert_eq!(row.map(|row| row.status), Ok(Status::LaunchFailed));
    }
}
