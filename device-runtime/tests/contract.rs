//! Corners of the contract, on every family: what other libraries' users have met.
#![expect(clippy::unwrap_used, reason = "a test ends by a panic")]

mod common;

use bytemuck::Pod;
use common::sample::of_every_family;
use common::{call, device};
use device_runtime::measure::{Fault, Measurer};
use device_runtime::mock::Mock;
use device_runtime::{Device, OpenCl};
use half::f16;
use kernels::measurement::Status;
use kernels::plan::PlanRow;
use kernels::reference::{self, Element, Expectation};
use kernels::{Configuration, Limits, Problem, SubGroups};
use selector_core::{GemmShape, ProblemClass};

/// A configuration of every family that the device can run.
fn fitting(device: &OpenCl) -> Vec<Configuration> {
    let mut all = of_every_family(1);
    all.retain(|configuration| configuration.fits(&device.info().limits).is_ok());
    all
}

/// A device that has room for every kernel.
fn roomy() -> Mock {
    let mut mock = Mock::default();
    (mock.info.limits.local_memory, mock.info.limits.sub_groups) = (1 << 20, SubGroups::ALL);
    mock
}

/// Compute on buffers that are just long enough.
fn computed<D: Device, T: Element + Pod>(
    device: &D,
    configuration: &Configuration,
    problem: Problem,
    [a, b, c]: [&[T]; 3],
) -> Vec<T> {
    let buffer = |values: &[T]| {
        let bytes = bytemuck::cast_slice(values);
        let mut buffer = device.allocate(bytes.len() as u64).unwrap();
        device.write(&mut buffer, bytes).unwrap();
        buffer
    };
    let buffers = [a, b, c].map(buffer);
    call(device, configuration, problem, buffers.each_ref());
    let mut after = c.to_vec();
    device.read(&buffers[2], bytemuck::cast_slice_mut(&mut after)).unwrap();
    after
}

fn broadcast_batch<T: Element + Pod>(
    device: &OpenCl,
    configuration: &Configuration,
    class: ProblemClass,
) {
    let mut problem = Problem::packed(class, GemmShape::new(1, 40, 1, 261));
    problem.a.stride = 0;
    assert_eq!(problem.buffer_lengths(), Ok([40, 261 * 40, 261]));
    let values = |length, seed| -> Vec<T> {
        let values = reference::values(length, seed).into_iter();
        values.map(|value| T::nearest(f64::from(value))).collect()
    };
    let (a, b, before) = (values(40, 1), values(261 * 40, 2), values(261, 3));
    let after = computed(device, configuration, problem, [&a, &b, &before]);
    let mut expectation = Expectation::new(&before);
    expectation.add(&problem.check(40, 261 * 40, 261).unwrap(), &a, &b);
    let outcome = expectation.check(&after);
    assert!(outcome.is_ok(), "{configuration} {class}: {outcome:?}");
}

#[test]
fn a_long_batch_that_shares_an_input_of_exactly_its_length_is_right() {
    let Some(device) = device() else { return };
    for configuration in fitting(&device) {
        broadcast_batch::<f32>(&device, &configuration, "f32-nn".parse().unwrap());
        broadcast_batch::<f16>(&device, &configuration, "f16-tt".parse().unwrap());
    }
}

/// C of 3×5 with every element of A and of B alike, from C full of NaN.
fn alike(
    device: &OpenCl,
    configuration: &Configuration,
    class: &str,
    k: u32,
    value: f32,
) -> Vec<f32> {
    let problem = Problem::packed(class.parse().unwrap(), GemmShape::new(3, k, 5, 1));
    let lengths = problem.buffer_lengths().unwrap();
    let [a, b, _] = lengths.map(|length| vec![f16::from_f32(value); length as usize]);
    let c = vec![f16::NAN; 15];
    let after = computed(device, configuration, problem, [&a, &b, &c]);
    after.into_iter().map(f16::to_f32).collect()
}

#[test]
fn half_precision_is_summed_in_single_rounds_once_and_overflows_to_infinity() {
    let Some(device) = device() else { return };
    for configuration in fitting(&device) {
        for class in ["f16-nn", "f16-tt"] {
            let is = |k, value, expected: f32| {
                let c = alike(&device, &configuration, class, k, value);
                assert_eq!(c, [expected; 15], "{configuration} {class}, k {k}");
            };
            // Summed in half precision this would stop at 2048.
            is(4096, 1.0, 4096.0);
            // 2049 lies between 2048 and 2050: to even.
            is(2049, 1.0, 2048.0);
            is(1, 256.0, f32::INFINITY);
            is(1, 0.0, 0.0);
        }
    }
}

fn row(configuration: Configuration) -> PlanRow {
    let (shape, class) = (GemmShape::new(8, 8, 8, 1), ProblemClass::F32_NN);
    PlanRow { shape, class, configuration, repetitions: 1 }
}

#[test]
fn a_kernels_own_limit_below_the_devices_rules_it_out_before_it_is_launched() {
    for configuration in of_every_family(2) {
        let small = Mock { kernel_work_group: 32, ..roomy() };
        let mut measurer = Measurer::new(small);
        let runs = configuration.work_group() <= 32;
        let row = measurer.measure(&row(configuration.clone()), |_| {}, |_| {}).unwrap();
        let expected = if runs { Status::Ok } else { Status::LaunchFailed };
        assert_eq!(row.status, expected, "{configuration}");
        assert_eq!(measurer.device().enqueued.borrow().is_empty(), !runs, "{configuration}");
    }
}

#[test]
fn a_device_without_room_for_a_kernel_never_sees_its_source() {
    for configuration in of_every_family(2) {
        let mut small = Mock::default();
        let (work_group, work_items) = (16, [16, 1, 1]);
        let sub_groups = SubGroups::NONE;
        small.info.limits = Limits { work_group, work_items, local_memory: 1024, sub_groups };
        let fits = configuration.fits(&small.info.limits).is_ok();
        let mut measurer = Measurer::new(small);
        let row = measurer.measure(&row(configuration.clone()), |_| {}, |_| {}).unwrap();
        let expected = if fits { Status::Ok } else { Status::LaunchFailed };
        assert_eq!(row.status, expected, "{configuration}");
        assert_eq!(measurer.device().built.get() > 0, fits, "{configuration}");
    }
}

#[test]
fn what_does_not_build_run_or_compute_right_costs_its_own_family_only() {
    let all = of_every_family(1);
    for (number, broken) in all.iter().enumerate() {
        let own = || vec![broken.program(ProblemClass::F32_NN).name];
        let other = &all[(number + 1) % all.len()];
        for (mock, status) in [
            (Mock { broken_builds: own(), ..roomy() }, Status::BuildFailed),
            (Mock { wrong_results: own(), ..roomy() }, Status::WrongResult),
            (Mock { overruns: own(), ..roomy() }, Status::WrongResult),
        ] {
            let mut measurer = Measurer::new(mock);
            let mut status_of = |configuration: &Configuration| {
                let row = measurer.measure(&row(configuration.clone()), |_| {}, |_| {});
                row.map(|row| row.status)
            };
            // Where the universal kernel computes wrong, the device does.
            let device = status == Status::WrongResult && *broken == Configuration::universal();
            let expected = if device { Err(Fault::Wrong) } else { Ok(status) };
            assert_eq!(status_of(broken), expected, "{broken}");
            assert_eq!(status_of(other), Ok(Status::Ok), "{other} beside {broken}");
        }
    }
}
