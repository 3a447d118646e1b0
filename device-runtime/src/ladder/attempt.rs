//! One program on one rung: load or build it, run it, and compare with the reference.

use std::time::Duration;

use kernels::{Configuration, Program};

use crate::device::check_fits;
use crate::measure::is_right;
use crate::{Device, DeviceError};

/// What to try.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// The program.
    pub program: &'a Program,
    /// The configurations that share it.
    pub configurations: &'a [Configuration],
    /// A binary, checked but for what only a driver knows; `None` to build from source.
    pub binary: Option<&'a [u8]>,
}

/// Who tries.
pub trait Attempt {
    /// Try a program; what it is loaded from, from now on.
    ///
    /// # Errors
    /// [`Fault`]; the next program can be tried all the same.
    fn attempt(&mut self, task: &Task<'_>) -> Result<Vec<u8>, Fault>;

    /// Whether a driver that crashes or hangs is only a [`Fault`]; else it is given no binary that another
    /// driver made.
    fn outlives_driver(&self) -> bool;
}

/// Why a program does not stand on a rung.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The child process cannot be used.
    #[error("the process to try it in cannot be used: {0}")]
    CannotTry(String),
    /// The driver refuses it.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The child process ended.
    #[error("the driver took the process down in which it was tried ({0})")]
    Died(String),
    /// The driver has crashed or hung too often.
    #[error("not tried, since the driver crashed or hung {0} times before")]
    GivenUp(u32),
    /// The bundle has no binary of it.
    #[error("the bundle has no binary of it")]
    Missing,
    /// The binary is another driver's, and there is no child process to try it in.
    #[error("not tried, since another driver made it and there is no child process to try it in")]
    NoChild,
    /// The caller wants nothing built.
    #[error("not tried, since nothing is to be built")]
    NotAsked,
    /// The universal kernel of its class cannot be used.
    #[error("not tried, since the universal kernel of its class cannot be used")]
    NoUniversal,
    /// The binary was made for another device.
    #[error("not tried, since it was made for `{0}`")]
    OtherDevice(String),
    /// The binary was made from other sources, and may take other arguments.
    #[error("not tried, since it was made from other sources (kernel space {0:016x})")]
    OtherSources(u64),
    /// The driver refuses it in the child process.
    #[error("{0}")]
    Refused(String),
    /// The child process hung.
    #[error("the driver gave no answer within {} s", .0.as_secs_f64())]
    TimedOut(Duration),
    /// It runs, but is wrong.
    #[error("{0} computes something else than the reference")]
    Wrong(String),
}

impl Fault {
    /// Whether the driver crashed or hung, or there was no process to try in.
    #[must_use]
    pub fn is_machines(&self) -> bool {
        matches!(self, Self::CannotTry(_) | Self::Died(_) | Self::TimedOut(_))
    }
}

/// Crashes and hangs of a driver after which it is given no more binaries, or builds no more.
pub(super) const PATIENCE: u32 = 3;

/// Tries until the driver has crashed or hung too often.
pub(crate) struct Patient<'a> {
    attempts: &'a mut dyn Attempt,
    /// Crashes and hangs over binaries, and over sources.
    deaths: [u32; 2],
}

impl<'a> Patient<'a> {
    pub(crate) fn new(attempts: &'a mut dyn Attempt) -> Self {
        Self { attempts, deaths: [0; 2] }
    }
}

impl Attempt for Patient<'_> {
    fn attempt(&mut self, task: &Task<'_>) -> Result<Vec<u8>, Fault> {
        let [of_binaries, of_sources] = &mut self.deaths;
        let deaths = if task.binary.is_some() { of_binaries } else { of_sources };
        if *deaths >= PATIENCE {
            return Err(Fault::GivenUp(PATIENCE));
        }
        let done = self.attempts.attempt(task);
        if matches!(done, Err(Fault::Died(_) | Fault::TimedOut(_))) {
            *deaths += 1;
        }
        done
    }

    fn outlives_driver(&self) -> bool {
        self.attempts.outlives_driver()
    }
}

/// Try in this process, which a driver that crashes takes down.
pub struct InProcess<'a, D>(pub &'a D);

impl<D: Device> Attempt for InProcess<'_, D> {
    fn attempt(&mut self, task: &Task<'_>) -> Result<Vec<u8>, Fault> {
        attempt(self.0, task)
    }

    fn outlives_driver(&self) -> bool {
        false
    }
}

/// Load the binary, or build the program and take its binary; run every configuration that fits the device,
/// which the universal one must.
///
/// What was built runs before its binary is taken, since some drivers finish compiling only then; and once
/// more from that binary, which is what is used from now on.
///
/// # Errors
/// The driver's refusal, or [`Fault::Wrong`].
pub fn attempt<D: Device>(device: &D, task: &Task<'_>) -> Result<Vec<u8>, Fault> {
    let Task { program, configurations, binary } = *task;
    let binary = match binary {
        Some(binary) => binary.to_vec(),
        None => {
            let mut kernel = device.build(program)?;
            prove(device, &mut kernel, program, configurations)?;
            device.binary(&kernel)?
        }
    };
    let mut kernel = device.load(program, &binary)?;
    prove(device, &mut kernel, program, configurations)?;
    Ok(binary)
}

fn prove<D: Device>(
    device: &D,
    kernel: &mut D::Kernel,
    program: &Program,
    configurations: &[Configuration],
) -> Result<(), Fault> {
    let limit = device.work_group_limit(kernel)?;
    for configuration in configurations {
        match check_fits(&device.info().limits, configuration, limit) {
            Ok(()) => {}
            Err(error) if *configuration == Configuration::universal() => return Err(error.into()),
            Err(_) => continue,
        }
        if !is_right(device, kernel, configuration, program.class)? {
            return Err(Fault::Wrong(configuration.to_string()));
        }
    }
    Ok(())
}
