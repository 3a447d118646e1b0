//! Enqueueing a call: all its launches, step by step.

use std::mem;
use std::ops::Range;

use kernels::Launches;
use smallvec::SmallVec;

use crate::device::Armed;
use crate::{Device, DeviceError};

/// Some events, in order; a few of them take no memory of the heap.
pub type Events<E> = SmallVec<[E; 4]>;

/// Enqueue `launches` of a kernel whose arguments are set; their events if they are `wanted`, else none,
/// which is quicker.
///
/// A step begins after the one before has ended. On a queue that does not keep the order nothing else
/// is waited for, neither before nor behind: scratch memory is the caller's to share out.
///
/// # Errors
/// The driver's refusal; what was enqueued before it runs all the same.
pub fn enqueue<D: Device>(
    device: &D,
    kernel: &Armed<'_, D::Kernel>,
    launches: &Launches,
    wanted: bool,
) -> Result<Events<D::Event>, DeviceError> {
    let wishes = Wishes { wait: &[], each: wanted, done: false, last: false };
    let enqueued = in_order(device, kernel, launches, &wishes);
    Ok(enqueued.map_err(|refused| refused.error)?.events)
}

/// What is wanted of a call beside its result.
pub(crate) struct Wishes<'w, E> {
    /// What it begins after.
    pub(crate) wait: &'w [E],
    /// An event of each launch.
    pub(crate) each: bool,
    /// An event of the whole call.
    pub(crate) done: bool,
    /// Events that the end of the call can be told by; on a queue that keeps the order there are none,
    /// and none are needed.
    pub(crate) last: bool,
}

/// The events that were wanted.
pub(crate) struct Enqueued<E> {
    pub(crate) events: Events<E>,
    pub(crate) done: Option<E>,
    pub(crate) last: Events<E>,
}

/// Why the driver took no more of a call.
pub(crate) struct Refused {
    pub(crate) error: DeviceError,
    /// Launches before it, which run all the same.
    pub(crate) enqueued: usize,
}

/// [`enqueue`] with more wishes.
///
/// # Errors
/// The driver's refusal; what was enqueued before it runs all the same.
#[inline]
pub(crate) fn in_order<D: Device>(
    device: &D,
    kernel: &Armed<'_, D::Kernel>,
    launches: &Launches,
    wishes: &Wishes<'_, D::Event>,
) -> Result<Enqueued<D::Event>, Refused> {
    let mut enqueued = 0;
    let done = if !device.keeps_order() {
        by_events(device, kernel, launches, wishes, &mut enqueued)
    } else if wishes.each || wishes.done {
        by_the_queue(device, kernel, launches, wishes, &mut enqueued)
    } else {
        let none = || Enqueued { events: Events::new(), done: None, last: Events::new() };
        untold(device, kernel, launches, wishes.wait, &mut enqueued).map(|()| none())
    };
    done.map_err(|error| Refused { error, enqueued })
}

/// Enqueue where the queue keeps the order and nobody wants to know of the end; how many launches were taken is
/// counted.
///
/// # Errors
/// The driver's refusal; what was enqueued before it runs all the same.
#[inline]
pub(crate) fn untold<D: Device>(
    device: &D,
    kernel: &Armed<'_, D::Kernel>,
    launches: &Launches,
    mut wait: &[D::Event],
    enqueued: &mut usize,
) -> Result<(), DeviceError> {
    for launch in launches.iter() {
        device.launch(kernel, launch, mem::take(&mut wait))?;
        *enqueued += 1;
    }
    Ok(())
}

/// The queue keeps the order: what the first launch waits for, all wait for.
#[inline(never)]
fn by_the_queue<D: Device>(
    device: &D,
    kernel: &Armed<'_, D::Kernel>,
    launches: &Launches,
    wishes: &Wishes<'_, D::Event>,
    enqueued: &mut usize,
) -> Result<Enqueued<D::Event>, DeviceError> {
    let (mut events, mut done) = (Events::new(), None);
    let mut wait = wishes.wait;
    for launch in launches.iter() {
        let first = mem::take(&mut wait);
        if wishes.each {
            events.push(device.enqueue(kernel, launch, first)?);
        } else if *enqueued + 1 == launches.len() {
            done = Some(device.enqueue(kernel, launch, first)?);
        } else {
            device.launch(kernel, launch, first)?;
        }
        *enqueued += 1;
    }
    if wishes.done && done.is_none() {
        done = Some(device.join(events.last().map_or(&[], std::slice::from_ref))?);
    }
    Ok(Enqueued { events, done, last: Events::new() })
}

/// The queue keeps no order: a step waits for the events of the one before.
#[inline(never)]
fn by_events<D: Device>(
    device: &D,
    kernel: &Armed<'_, D::Kernel>,
    launches: &Launches,
    wishes: &Wishes<'_, D::Event>,
    enqueued: &mut usize,
) -> Result<Enqueued<D::Event>, DeviceError> {
    let mut events: Events<D::Event> = Events::new();
    let mut before: Range<usize> = 0..0;
    let mut left = launches.len();
    for (number, step) in launches.steps().enumerate() {
        left -= step.len();
        let told = wishes.each || wishes.done || wishes.last || left > 0;
        let mut these: Events<D::Event> = Events::new();
        for launch in step {
            let earlier = events.get(before.clone()).unwrap_or_default();
            let wait = if number == 0 { wishes.wait } else { earlier };
            if told {
                these.push(device.enqueue(kernel, launch, wait)?);
            } else {
                device.launch(kernel, launch, wait)?;
            }
            *enqueued += 1;
        }
        before = events.len()..events.len() + these.len();
        events.append(&mut these);
    }
    let ends = events.get(before.clone()).unwrap_or_default();
    let done = if wishes.done { Some(device.join(ends)?) } else { None };
    let mut last = Events::new();
    if wishes.last && wishes.each {
        last.push(device.join(ends)?);
    } else if wishes.last {
        last.extend(events.drain(before));
    }
    if !wishes.each {
        events.clear();
    }
    Ok(Enqueued { events, done, last })
}

#[cfg(test)]
mod tests {
    use kernels::{Configuration, Launch, Problem};
    use selector_core::{GemmShape, ProblemClass};

    use super::*;
    use crate::Arguments;
    use crate::mock::{Enqueued as Seen, Mock, MockEvent};

    /// What the device sees of launches of the functions 0, 0, 1, and the numbers of events given.
    fn seen(device: &Mock, wishes: &Wishes<'_, MockEvent>) -> (Vec<Seen>, [usize; 3]) {
        let mut program = Configuration::universal().program(ProblemClass::F32_NN);
        program.functions = &["gemm", "gemm"];
        let mut kernel = device.build(&program).unwrap();
        let problem = Problem::packed(ProblemClass::F32_NN, GemmShape::new(4, 4, 4, 1));
        let buffers = [(); 3].map(|()| device.allocate(64).unwrap());
        let arguments = Arguments::new(device, problem, buffers.each_ref()).unwrap();
        let armed = device.set_arguments(&mut kernel, &arguments).unwrap();
        let two = Launch::cover([1, 1, 40_000], [1, 1, 1]);
        let launches = two.then(Launch::cover([1, 1, 1], [1, 1, 1]).of(1));
        device.enqueued.take();
        let Enqueued { events, done, last } =
            in_order(device, &armed, &launches, wishes).ok().unwrap();
        (device.enqueued.take(), [events.len(), usize::from(done.is_some()), last.len()])
    }

    fn wishes(wait: &[MockEvent], [each, done, last]: [bool; 3]) -> Wishes<'_, MockEvent> {
        Wishes { wait, each, done, last }
    }

    #[test]
    fn a_queue_that_keeps_the_order_is_told_nothing_but_what_the_call_waits_for() {
        let device = Mock::default();
        let given = [device.join(&[]).unwrap(), device.join(&[]).unwrap()];
        let launches =
            |first| [(0, first), (0, 0), (1, 0)].map(|(of, waits)| Seen::Launch { of, waits });
        for (wait, wished, expected) in [
            (0, [false; 3], [0; 3]),
            (2, [false, false, true], [0; 3]),
            (2, [true, false, false], [3, 0, 0]),
            (1, [false, true, true], [0, 1, 0]),
        ] {
            let without = device.without_event.get();
            let (seen, given) = seen(&device, &wishes(&given[..wait], wished));
            assert_eq!((seen, given), (launches(wait).to_vec(), expected));
            let events: usize = expected.iter().sum();
            assert_eq!(device.without_event.get() - without, 3 - events as u64);
        }
        let (seen, given) = seen(&device, &wishes(&[], [true, true, false]));
        assert_eq!((seen[3], given), (Seen::Join { of: 1 }, [3, 1, 0]));
    }

    #[test]
    fn on_a_queue_without_order_each_step_waits_for_the_one_before_and_the_end_for_the_last() {
        let device = Mock { keeps_order: false, ..Mock::default() };
        let given = [device.join(&[]).unwrap(), device.join(&[]).unwrap()];
        let launches = |first| {
            [(0, first), (0, first), (1, 2)].map(|(of, waits)| Seen::Launch { of, waits }).to_vec()
        };
        for (wait, wished, joins, expected) in [
            (0, [false; 3], 0, [0; 3]),
            (2, [false, false, true], 0, [0, 0, 1]),
            (1, [true, false, false], 0, [3, 0, 0]),
            (2, [true, false, true], 1, [3, 0, 1]),
            (2, [false, true, true], 1, [0, 1, 1]),
            (0, [true, true, true], 2, [3, 1, 1]),
        ] {
            let (seen, given) = seen(&device, &wishes(&given[..wait], wished));
            let mut all = launches(wait);
            all.extend(vec![Seen::Join { of: 1 }; joins]);
            assert_eq!((seen, given), (all, expected), "{wait} {wished:?}");
        }
    }
}
