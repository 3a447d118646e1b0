//! Whose fault a failure is: the row's own only where another could have been measured in its place.
//!
//! A row whose worker died, lost the device or found something missing may have met chance: it is tried once
//! more in a new worker. Before a failure is the row's, the universal kernel has to run; if it does not,
//! the machine is to blame.

use kernels::measurement::{Row, Status};
use kernels::plan::PlanRow;

use super::{CollectError, Worker, WorkerFailure};
use crate::measure::{Phase, plain};

/// Times that a row is tried whose worker fails by what may be chance.
const ATTEMPTS: usize = 2;

/// Measure a row, or say how it failed by itself.
///
/// # Errors
/// The machine fails, or the user wants to stop: nothing is known of the row.
pub(super) fn measured(
    worker: &mut impl Worker,
    plan: &PlanRow,
) -> Result<Result<Row, Status>, CollectError> {
    let mut attempt = 1;
    loop {
        let failure = match worker.measure(plan) {
            Ok(row) => return Ok(Ok(row)),
            Err(failure) => failure,
        };
        let (status, may_be_chance) = blame(&failure)?;
        if may_be_chance && attempt < ATTEMPTS {
            attempt += 1;
            continue;
        }
        check_machine(worker, plan, &failure)?;
        return Ok(Err(status));
    }
}

/// That the universal kernel still runs, after `plan` has failed by `failure`.
///
/// # Errors
/// It does not, or the user wants to stop.
pub(super) fn check_machine(
    worker: &mut impl Worker,
    plan: &PlanRow,
    failure: &WorkerFailure,
) -> Result<(), CollectError> {
    let reason = match worker.measure(&plain()) {
        Ok(row) if row.status == Status::Ok => return Ok(()),
        Ok(row) => row.status.to_string(),
        Err(WorkerFailure::Interrupted) => return Err(CollectError::Interrupted),
        Err(failure) => failure.to_string(),
    };
    let reason = format!("{failure}; and the universal kernel does not run any more ({reason})");
    Err(stopped(plan, reason))
}

/// That collecting stops at a row which is not to blame.
pub(super) fn stopped(plan: &PlanRow, reason: String) -> CollectError {
    let row = format!("{} on {} ({})", plan.configuration, plan.shape, plan.class);
    CollectError::Machine { row, reason }
}

/// The row's status if it is to blame, and whether the failure may be chance.
fn blame(failure: &WorkerFailure) -> Result<(Status, bool), CollectError> {
    Ok(match failure {
        WorkerFailure::Died(Phase::Build) => (Status::BuildFailed, true),
        WorkerFailure::Died(Phase::Launch) | WorkerFailure::Lost(_) | WorkerFailure::Machine(_) => {
            (Status::LaunchFailed, true)
        }
        WorkerFailure::Wrong(_) => (Status::WrongResult, true),
        WorkerFailure::TimedOut(_) => (Status::TimedOut, false),
        WorkerFailure::Interrupted => return Err(CollectError::Interrupted),
        WorkerFailure::CannotStart(_) => return Err(failure.clone().into()),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::measure::{Fault, Measurer};
    use crate::mock::Mock;

    /// Each worker opens a device anew.
    struct Mocks<F> {
        device: F,
        running: Option<Measurer<Mock>>,
        asked: BTreeMap<String, usize>,
    }

    impl<F: FnMut() -> Mock> Mocks<F> {
        fn new(device: F) -> Self {
            Self { device, running: None, asked: BTreeMap::new() }
        }
    }

    impl<F: FnMut() -> Mock> Worker for Mocks<F> {
        fn measure(&mut self, row: &PlanRow) -> Result<Row, WorkerFailure> {
            *self.asked.entry(row.configuration.to_string()).or_default() += 1;
            let mut measurer =
                self.running.take().unwrap_or_else(|| Measurer::new((self.device)()));
            let row = measurer.measure(row, |_| {}, |_| {}).map_err(|fault| match fault {
                Fault::Lost(_) => WorkerFailure::Lost(fault.to_string()),
                Fault::Machine(_) => WorkerFailure::Machine(fault.to_string()),
                Fault::Wrong => WorkerFailure::Wrong(fault.to_string()),
            })?;
            self.running = Some(measurer);
            Ok(row)
        }
    }

    const NAME: &str = "tile:1x1x1@8x8";

    fn row() -> PlanRow {
        PlanRow { configuration: NAME.parse().unwrap(), ..plain() }
    }

    fn list(start: &str) -> Vec<String> {
        vec![start.to_owned()]
    }

    /// The status of a row by itself, the number of times it was tried, and that of looks at the machine.
    fn outcome(device: impl FnMut() -> Mock) -> (Result<Status, String>, usize, usize) {
        let mut mocks = Mocks::new(device);
        let status = match measured(&mut mocks, &row()) {
            Ok(Ok(row)) => Ok(row.status),
            Ok(Err(status)) => Ok(status),
            Err(error @ CollectError::Machine { .. }) => Err(error.to_string()),
            Err(error) => panic!("{error}"),
        };
        let asked = |name: &str| mocks.asked.get(name).copied().unwrap_or(0);
        (status, asked(NAME), asked("universal"))
    }

    #[test]
    fn a_driver_that_lacks_something_for_one_row_each_time_blames_that_row() {
        for code in [-2, -3, -4, -6] {
            let refuses =
                || Mock { refusals: [("tile:1x".to_owned(), code)].into(), ..Mock::default() };
            assert_eq!(outcome(refuses), (Ok(Status::LaunchFailed), 2, 1), "{code}");
            let mut times = 0;
            let once = || {
                times += 1;
                if times == 1 { refuses() } else { Mock::default() }
            };
            assert_eq!(outcome(once), (Ok(Status::Ok), 2, 0), "{code}");
            let all = || Mock { refusals: [(String::new(), code)].into(), ..Mock::default() };
            let (stopped, 2, 1) = outcome(all) else { panic!("{code}") };
            assert!(stopped.unwrap_err().contains("the universal kernel does not run"), "{code}");
        }
    }

    #[test]
    fn where_no_compiler_works_a_universal_kernel_from_the_drivers_cache_clears_no_one() {
        let broken =
            || Mock { broken_compiler: true, cached: list("universal"), ..Mock::default() };
        let (stopped, 2, 1) = outcome(broken) else { panic!("not tried twice") };
        assert!(stopped.is_err(), "{stopped:?}");
    }

    #[test]
    fn a_wrong_result_is_the_rows_own_only_beside_a_right_one_of_the_universal_kernel() {
        let wrong =
            |start: &'static str| move || Mock { wrong_results: list(start), ..Mock::default() };
        assert_eq!(outcome(wrong("tile:1x")), (Ok(Status::WrongResult), 1, 0));
        let (stopped, 2, 1) = outcome(wrong("")) else { panic!("not tried twice") };
        assert!(stopped.unwrap_err().contains("not even the universal kernel"));
        let mut times = 0;
        let once = || {
            times += 1;
            if times == 1 { wrong("")() } else { Mock::default() }
        };
        assert_eq!(outcome(once), (Ok(Status::Ok), 2, 0));
    }

    #[test]
    fn a_row_that_takes_the_device_down_each_time_is_to_blame_while_others_run() {
        let deadly = || Mock { deadly: list("tile:1x"), ..Mock::default() };
        assert_eq!(outcome(deadly), (Ok(Status::LaunchFailed), 2, 1));
    }
}
