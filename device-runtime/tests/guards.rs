//! What a kernel does beside computing C is found: by the check of sources, and before anything is timed.

mod common;

use common::device;
use common::faulty::{FAULTS, faulty};
use device_runtime::check::{Problems, SourceUnit, check_sources};
use device_runtime::measure::Measurer;
use kernels::measurement::Status;
use kernels::plan::PlanRow;
use selector_core::GemmShape;

#[test]
fn what_a_kernel_does_beside_c_is_found_by_the_check_of_sources() {
    let Some(device) = device() else { return };
    for class in ["f32-nn", "f16-tt"].map(|class| class.parse().unwrap()) {
        for (number, fault) in FAULTS.iter().enumerate() {
            let unit = SourceUnit {
                class,
                configurations: vec![faulty(number)],
                problems: Problems::Sample(1),
            };
            let report = check_sources(&device, &unit).unwrap();
            assert_eq!(report.wrong.is_empty(), number == 0, "{class} {fault}: {:?}", report.wrong);
        }
    }
}

#[test]
fn what_a_kernel_does_beside_c_is_found_before_it_is_timed() {
    let Some(device) = device() else { return };
    let mut measurer = Measurer::new(device);
    for class in ["f32-tn", "f16-nt"].map(|class| class.parse().unwrap()) {
        for (number, fault) in FAULTS.iter().enumerate() {
            let shape = GemmShape::new(8, 8, 8, 1);
            let row = PlanRow { shape, class, configuration: faulty(number), repetitions: 1 };
            let row = measurer.measure(&row, |_| {}, |_| {}).unwrap();
            let expected = if number == 0 { Status::Ok } else { Status::WrongResult };
            assert_eq!(row.status, expected, "{class} {fault}");
        }
    }
}
