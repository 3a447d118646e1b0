//! Enqueueing a call: all its launches, step by step.

use kernels::Launches;
use smallvec::SmallVec;

use crate::{Device, DeviceError};

/// One event a launch, in order; a few of them take no memory of the heap.
pub type Events<E> = SmallVec<[E; 4]>;

/// Enqueue `launches` of a kernel with the arguments set last; their events if they are `wanted`, else
/// none, which is quicker.
///
/// A step begins after the one before has ended. With `scratch`, the first step begins after all
/// that was enqueued before, and what comes next waits for the last: the memory is used again.
///
/// # Errors
/// The driver's refusal; what was enqueued before it runs all the same.
pub fn enqueue<D: Device>(
    device: &D,
    kernel: &mut D::Kernel,
    launches: &Launches,
    scratch: bool,
    wanted: bool,
) -> Result<Events<D::Event>, DeviceError> {
    let mut events = Events::new();
    for (number, step) in launches.steps().enumerate() {
        if number > 0 || scratch {
            device.barrier()?;
        }
        for launch in step {
            if wanted {
                events.push(device.enqueue(kernel, launch)?);
            } else {
                device.launch(kernel, launch)?;
            }
        }
    }
    if scratch {
        device.barrier()?;
    }
    Ok(events)
}

#[cfg(test)]
mod tests {
    use kernels::{Configuration, Launch, Problem};
    use selector_core::{GemmShape, ProblemClass};

    use super::*;
    use crate::Arguments;
    use crate::mock::{Enqueued, Mock};

    /// What the device sees of launches of the functions 0, 0, 1.
    fn seen(scratch: bool) -> Vec<Enqueued> {
        let device = Mock::default();
        let mut program = Configuration::universal().program(ProblemClass::F32_NN);
        program.functions = &["gemm", "gemm"];
        let mut kernel = device.build(&program).unwrap();
        let problem = Problem::packed(ProblemClass::F32_NN, GemmShape::new(4, 4, 4, 1));
        let buffers = [(); 3].map(|()| device.allocate(64).unwrap());
        let arguments = Arguments::new(&device, problem, buffers.each_ref()).unwrap();
        device.set_arguments(&mut kernel, &arguments).unwrap();
        let two = Launch::cover([1, 1, 40_000], [1, 1, 1]);
        let launches = two.then(Launch::cover([1, 1, 1], [1, 1, 1]).of(1));
        let events = enqueue(&device, &mut kernel, &launches, scratch, true).unwrap();
        assert_eq!((events.len(), device.without_event.get()), (3, 0));
        let with_events = device.enqueued.take();
        let events = enqueue(&device, &mut kernel, &launches, scratch, false).unwrap();
        assert_eq!((events.len(), device.without_event.get()), (0, 3));
        assert_eq!(*device.enqueued.borrow(), with_events);
        device.enqueued.take()
    }

    #[test]
    fn barriers_stand_between_steps_and_around_a_call_that_uses_scratch() {
        use Enqueued::{Barrier, Launch};
        assert_eq!(seen(false), [Launch(0), Launch(0), Barrier, Launch(1)]);
        assert_eq!(seen(true), [Barrier, Launch(0), Launch(0), Barrier, Launch(1), Barrier]);
    }
}
