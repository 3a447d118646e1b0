//! Multiply on a context, queues and buffers of one's own, in two threads:
//! `cargo run --example own_context -- model.gtb`.
//!
//! The queues keep no order. Each call waits for the events of what it reads, and gives one of its own.
#![expect(unsafe_code, reason = "the caller's side of OpenCL")]

use std::error::Error;
use std::{env, fs, ptr, thread};

use device_runtime::opencl::{OpenClBuffer, OpenClEvent};
use device_runtime::{CallOptions, OpenCl, Runtime};
use kernels::Problem;
use kernels::bundle::Bundle;
use opencl3::command_queue::{CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, CommandQueue};
use opencl3::context::Context;
use opencl3::device::{CL_DEVICE_TYPE_ALL, Device};
use opencl3::memory::{Buffer, CL_MEM_READ_WRITE, ClMem};
use opencl3::platform::get_platforms;
use opencl3::types::CL_NON_BLOCKING;
use selector_core::{GemmShape, ProblemClass};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

const SIDE: u32 = 64;
const ELEMENTS: usize = (SIDE * SIDE) as usize;

fn main() -> Outcome<()> {
    let path = env::args().nth(1).ok_or("name a bundle, e.g. build/demo/model.gtb")?;
    let bytes = fs::read(path)?;
    let bundle = Bundle::parse(&bytes)?;
    let context = Context::from_device(&device_of(&bundle)?)?;
    let first = OpenCl::with_context(context)?;
    // A call sets a kernel's arguments before it is enqueued, so that threads take a runtime each.
    let second = first.sibling()?;
    thread::scope(|scope| {
        let bundle = &bundle;
        let threads = [(first, 1.0), (second, 2.0)]
            .map(|(device, alpha)| scope.spawn(move || multiply_twice(device, bundle, alpha)));
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a thread panicked")?)
    })?;
    #[expect(clippy::print_stdout, reason = "it is an example")]
    {
        println!("right");
    }
    Ok(())
}

/// The device that a bundle was made for.
fn device_of(bundle: &Bundle<'_>) -> Outcome<Device> {
    for platform in get_platforms()? {
        for id in platform.get_devices(CL_DEVICE_TYPE_ALL).unwrap_or_default() {
            let device = Device::new(id);
            let is_platform = platform.name()?.trim() == bundle.key.platform;
            if is_platform && device.name()?.trim() == bundle.key.device {
                return Ok(device);
            }
        }
    }
    Err(format!("there is no `{}` here", bundle.key.device).into())
}

/// D = alpha·A·B, then E = alpha·D·B, with nothing waited for in between.
fn multiply_twice(mut device: OpenCl, bundle: &Bundle<'_>, alpha: f32) -> Outcome<()> {
    let no_order = CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
    let queue = CommandQueue::create_default(device.context(), no_order)?;
    let ours = CommandQueue::create_default(device.context(), no_order)?;
    device.use_queue(queue)?;
    let mut runtime = Runtime::load(device, bundle)?;

    // A is ones, B twice the unit matrix: D is alpha·2 throughout, and E alpha·alpha·4.
    let ones = vec![1.0_f32; ELEMENTS];
    let mut twice = vec![0.0_f32; ELEMENTS];
    twice.iter_mut().step_by(SIDE as usize + 1).for_each(|one| *one = 2.0);
    let context = runtime.device().context();
    let (mut a, mut b) = (buffer(context)?, buffer(context)?);
    let (d, e) = (buffer(context)?, buffer(context)?);
    // SAFETY: `ones` and `twice` live until the end of this function, which waits for the last event.
    let written = unsafe {
        [
            ours.enqueue_write_buffer(&mut a, CL_NON_BLOCKING, 0, &ones, &[])?,
            ours.enqueue_write_buffer(&mut b, CL_NON_BLOCKING, 0, &twice, &[])?,
        ]
    }
    .map(OpenClEvent::from);

    // SAFETY: the four buffers live until the end of this function.
    let [of_a, of_b, of_d, of_e] =
        [&a, &b, &d, &e].map(|one| unsafe { OpenClBuffer::borrowed(one.get()) });
    let (of_a, of_b, of_d, of_e) = (of_a?, of_b?, of_d?, of_e?);
    let class = ProblemClass::F32_NN;
    let packed = Problem::packed(class, GemmShape::new(SIDE, SIDE, SIDE, 1));
    let problem = Problem { alpha, ..packed };
    let after = |wait| CallOptions { wait, event: true, scratch: None };
    let first = runtime.gemm_options(problem, [&of_a, &of_b, &of_d], &after(&written))?;
    let first: Vec<OpenClEvent> = first.done.into_iter().collect();
    let second = runtime.gemm_options(problem, [&of_d, &of_b, &of_e], &after(&first))?;
    let second = second.done.ok_or("an event was asked for")?;

    let mut product = vec![0.0_f32; ELEMENTS];
    // SAFETY: `product` lives until the read is waited for.
    let read =
        unsafe { ours.enqueue_read_buffer(&e, CL_NON_BLOCKING, 0, &mut product, &[second.raw()])? };
    read.wait()?;
    let expected = alpha * alpha * 4.0;
    if product.iter().any(|one| (one - expected).abs() > 1e-4) {
        return Err(format!("not {expected}: {:?}", product.first()).into());
    }
    Ok(())
}

fn buffer(context: &Context) -> Outcome<Buffer<f32>> {
    // SAFETY: no host pointer is given.
    Ok(unsafe { Buffer::create(context, CL_MEM_READ_WRITE, ELEMENTS, ptr::null_mut())? })
}
