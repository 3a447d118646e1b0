//! Launches one kernel of `faults.cl`, named by the argument: a fault on purpose, which a simulator must
//! report. Used by `oclgrind/check.sh`, which runs the families through the same device.
#![expect(clippy::print_stderr, reason = "a program for scripts")]

use std::process::ExitCode;

use device_runtime::{Arguments, Device, DeviceError, OpenCl};
use kernels::{Launch, Problem, Program};
use selector_core::{GemmShape, ProblemClass};

const FAULTS: &[&str] = &["race_in_local_memory", "race_between_groups", "read_outside"];
const ITEMS: u32 = 64;

fn main() -> ExitCode {
    let name = std::env::args().nth(1).unwrap_or_default();
    let Some(fault) = FAULTS.iter().position(|fault| *fault == name) else {
        eprintln!("error: no fault is called `{name}`; faults: {}", FAULTS.join(", "));
        return ExitCode::from(1);
    };
    match launch(fault) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(1)
        }
    }
}

fn launch(fault: usize) -> Result<(), DeviceError> {
    let device = OpenCl::open(None)?;
    let class = ProblemClass::F32_NN;
    let program = Program {
        name: "faults/f32-nn".to_owned(),
        source: include_str!("faults.cl"),
        options: String::new(),
        class,
        functions: FAULTS,
        scratch: false,
    };
    let mut kernel = device.build(&program)?;
    let bytes = u64::from(ITEMS) * 4;
    let mut buffers = [device.allocate(bytes)?, device.allocate(bytes)?, device.allocate(bytes)?];
    for buffer in &mut buffers {
        device.write(buffer, &[0; ITEMS as usize * 4])?;
    }
    let problem = Problem::packed(class, GemmShape::new(1, 1, ITEMS, 1));
    let arguments = Arguments::new(&device, problem, buffers.each_ref())
        .map_err(|_| DeviceError::TooLarge("the problem"))?;
    let armed = device.set_arguments(&mut kernel, &arguments)?;
    let group = if FAULTS[fault] == "race_between_groups" { 32 } else { 64 };
    let launches = Launch::cover([u64::from(ITEMS), 1, 1], [group, 1, 1]).of(fault);
    for launch in launches.iter() {
        device.enqueue(&armed, launch, &[])?;
    }
    device.finish()
}
