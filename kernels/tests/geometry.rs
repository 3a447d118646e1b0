//! How every configuration of every family is launched, and what rules it out.
#![expect(clippy::unwrap_used, reason = "a test ends by a panic")]

use kernels::{CheckedProblem, Configuration, Limits, Misfit, Problem, SubGroups, space};
use selector_core::{GemmShape, ProblemClass};

/// More than any kernel takes of anything.
const PLENTY: u64 = 1 << 20;

fn limits(work_group: u64, work_items: [u64; 3]) -> Limits {
    Limits { work_group, work_items, local_memory: PLENTY, sub_groups: SubGroups::ALL }
}

fn everything() -> impl Iterator<Item = Configuration> {
    [Configuration::universal()].into_iter().chain(space::all())
}

/// Sizes that no work-group divides, a row, a column, a long k, a batch.
fn problems() -> Vec<CheckedProblem> {
    let shapes = [
        GemmShape::new(2000, 3, 17, 2),
        GemmShape::new(16, 500, 64, 1),
        GemmShape::new(3, 1000, 2048, 1),
        GemmShape::new(1, 4096, 1, 1),
        GemmShape::new(37, 293, 500, 3),
    ];
    let problem = |class, shape| {
        let problem = Problem::packed(class, shape);
        problem.check(u64::MAX, u64::MAX, u64::MAX).unwrap()
    };
    ProblemClass::all().flat_map(|class| shapes.map(|shape| problem(class, shape))).collect()
}

#[test]
fn every_launch_is_of_whole_work_groups_and_within_the_limits_that_are_asked_for() {
    let devices = [
        limits(1024, [1024, 1024, 64]),
        limits(256, [256, 256, 256]),
        limits(256, [256, 1, 1]),
        limits(256, [1, 256, 1]),
        limits(128, [64, 16, 1]),
        limits(64, [64; 3]),
        limits(1, [1; 3]),
    ];
    let problems = problems();
    for configuration in everything() {
        let fitting: Vec<_> =
            devices.iter().filter(|device| configuration.fits(device).is_ok()).collect();
        for problem in &problems {
            for launch in configuration.launches(problem).iter() {
                let what = || format!("{configuration} on {:?}: {launch:?}", problem.problem());
                let items: u64 = launch.local.iter().product();
                assert!(items <= configuration.work_group(), "{}", what());
                for dimension in 0..3 {
                    let (global, local) = (launch.global[dimension], launch.local[dimension]);
                    assert!(global > 0 && global.is_multiple_of(local), "{}", what());
                    assert!(global / local < 1 << 16, "{}", what());
                }
                for device in &fitting {
                    assert!(items <= device.work_group, "{} in {device:?}", what());
                    let mut along = launch.local.iter().zip(device.work_items);
                    assert!(along.all(|(need, have)| *need <= have), "{} in {device:?}", what());
                }
            }
        }
    }
}

#[test]
fn a_work_group_that_is_too_large_is_told_with_both_numbers() {
    for configuration in everything() {
        let need = configuration.work_group();
        assert_eq!(configuration.fits(&limits(need, [need; 3])), Ok(()), "{configuration}");
        match configuration.fits(&limits(need - 1, [need; 3])) {
            // The universal kernel is tried everywhere.
            Ok(()) => assert_eq!(configuration, Configuration::universal()),
            Err(misfit) => {
                assert!(matches!(misfit, Misfit::WorkGroup { have, .. } if have == need - 1));
                assert!(misfit.to_string().contains(&need.to_string()), "{misfit}");
            }
        }
    }
}

#[test]
fn local_memory_rules_out_exactly_what_needs_more() {
    for configuration in everything() {
        let with = |local_memory| {
            configuration.fits(&Limits { local_memory, ..limits(PLENTY, [PLENTY; 3]) })
        };
        let Err(misfit) = with(0) else { continue };
        let Misfit::LocalMemory { need, have: 0 } = misfit else {
            panic!("{configuration}: {misfit}")
        };
        assert_eq!(with(need), Ok(()), "{configuration}");
        let below = Err(Misfit::LocalMemory { need, have: need - 1 });
        assert_eq!(with(need - 1), below, "{configuration}");
    }
}
