//! Kernels of several steps on a device: scratch memory, order, and whose memory it is.
#![expect(clippy::unwrap_used, reason = "a test ends by a panic")]

mod common;

use std::ptr;

use common::parted::{parted, with_parted};
use common::{device, model};
use device_runtime::check::{Problems, SourceUnit, check_sources};
use device_runtime::compile::compile;
use device_runtime::opencl::OpenClBuffer;
use device_runtime::{Arguments, Device, DeviceError, OpenCl, Runtime, RuntimeError};
use kernels::bundle::Bundle;
use kernels::{Problem, reference};
use opencl3::command_queue::{
    CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, CL_QUEUE_PROFILING_ENABLE, CommandQueue,
};
use opencl3::context::Context;
use opencl3::device::{CL_DEVICE_TYPE_ALL, Device as ClDevice};
use opencl3::platform::get_platforms;
use selector_core::{GemmShape, KernelId, Precision, ProblemClass, Transposes};

const SIDE: u32 = 12;
const LENGTH: usize = 144;
/// What three parts take.
const SCRATCH: u64 = 3 * 4 * LENGTH as u64;

/// A device whose queue need not keep the order.
fn out_of_order() -> OpenCl {
    let id = get_platforms().unwrap()[0].get_devices(CL_DEVICE_TYPE_ALL).unwrap()[0];
    let context = Context::from_device(&ClDevice::new(id)).unwrap();
    let properties = CL_QUEUE_PROFILING_ENABLE | CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
    let queue = CommandQueue::create_default(&context, properties).unwrap();
    OpenCl::with_queue(context, queue).unwrap()
}

#[test]
fn parts_are_summed_right_whatever_the_order_of_the_queue() {
    let Some(device) = device() else { return };
    for device in [device, out_of_order()] {
        for transposes in [Transposes::Nn, Transposes::Tt] {
            let class = ProblemClass::new(Precision::F32, transposes);
            // One part wants no memory, and then the kernel is given a null pointer.
            let configurations = [1, 3, 8].map(parted).to_vec();
            let unit = SourceUnit { class, configurations, problems: Problems::All };
            let report = check_sources(&device, &unit).unwrap();
            assert!(report.wrong.is_empty(), "{:?}", report.wrong);
            assert_eq!((report.configurations, report.ruled_out.len()), (3, 0));
        }
    }
}

fn problem() -> Problem {
    Problem::packed(ProblemClass::F32_NN, GemmShape::new(SIDE, SIDE, SIDE, 1))
}

fn matrices(device: &OpenCl) -> [<OpenCl as Device>::Buffer; 3] {
    [1, 2, 3].map(|seed| {
        let mut buffer = device.allocate(4 * LENGTH as u64).unwrap();
        let values = reference::values(LENGTH, seed);
        device.write(&mut buffer, bytemuck::cast_slice(&values)).unwrap();
        buffer
    })
}

#[test]
fn a_runtime_takes_the_memory_reserved_or_the_callers_own_and_allocates_none_itself() {
    let Some(device) = device() else { return };
    let bytes = compile(&device, &model(&[ProblemClass::F32_NN]), &[], |_| {}).unwrap();
    let program = parted(3).program(ProblemClass::F32_NN);
    let binary = device.binary(&device.build(&program).unwrap()).unwrap();
    let bundle = with_parted(Bundle::parse(&bytes).unwrap(), 3, &program.name, &binary);
    let [a, b, c] = matrices(&device);
    let (small, large) = (device.allocate(SCRATCH - 1), device.allocate(SCRATCH + 100));
    let (small, large) = (small.unwrap(), large.unwrap());
    let mut expected = vec![0.0; LENGTH];
    let length = LENGTH as u64;
    let (left, right) = (reference::values(LENGTH, 1), reference::values(LENGTH, 2));
    reference::gemm(
        &problem().check(length, length, length).unwrap(),
        &left,
        &right,
        &mut expected,
    );

    let mut runtime = Runtime::load(device, &bundle).unwrap();
    assert_eq!(runtime.scratch_bytes(&problem()), Ok(SCRATCH));
    let first = KernelId(1);
    for (reserved, own, kernel) in [
        (0, None, KernelId::UNIVERSAL),
        (0, Some(&small), KernelId::UNIVERSAL),
        (0, Some(&large), first),
        (SCRATCH - 1, None, KernelId::UNIVERSAL),
        (SCRATCH, None, first),
        (0, None, first),
        (0, Some(&small), KernelId::UNIVERSAL),
    ] {
        runtime.reserve(reserved).unwrap();
        runtime.want_events(true);
        let call = match own {
            Some(own) => runtime.gemm_scratch(problem(), [&a, &b, &c], own),
            None => runtime.gemm(problem(), [&a, &b, &c]),
        };
        let call = call.unwrap();
        assert_eq!(call.kernel, Some(kernel));
        let mut after = vec![0.0_f32; LENGTH];
        runtime.device().read(&c, bytemuck::cast_slice_mut(&mut after)).unwrap();
        for (found, expected) in after.iter().zip(&expected) {
            assert!((found - expected).abs() < 1e-5, "{kernel}: {found}, not {expected}");
        }
        assert!(runtime.nanoseconds(&call).unwrap() > 0);
        assert_eq!(call.events.len(), if kernel == first { 2 } else { 1 });
    }
    let error = runtime.reserve(u64::MAX).err();
    assert!(
        matches!(error, Some(RuntimeError::Device(DeviceError::LargestBuffer { .. }))),
        "{error:?}"
    );
}

#[test]
#[expect(unsafe_code, reason = "the caller's side of OpenCL")]
fn scratch_that_has_memory_in_common_with_a_matrix_is_refused_whatever_its_handle() {
    use opencl3::memory::{Buffer, CL_MEM_READ_WRITE, ClMem, retain_mem_object};
    let Some(device) = device() else { return };
    let length = 4 * LENGTH;
    let whole = |bytes: usize| {
        // SAFETY: no host pointer is given.
        unsafe { Buffer::<u8>::create(device.context(), CL_MEM_READ_WRITE, bytes, ptr::null_mut()) }
            .unwrap()
    };
    let parent = whole(16_384);
    let part = |origin: usize, bytes: usize| {
        // SAFETY: the part is inside the buffer.
        let part = unsafe { parent.create_sub_buffer(CL_MEM_READ_WRITE, origin, bytes) };
        OpenClBuffer::new(part.unwrap()).unwrap()
    };
    let refused = |c: &OpenClBuffer, scratch: &OpenClBuffer| {
        let [a, b, _] = matrices(&device);
        let arguments = Arguments::new(&device, problem(), [&a, &b, c]).unwrap();
        arguments.with_scratch(&device, &parted(3), Some(scratch)).err()
    };
    let c = part(0, length);
    assert_eq!(refused(&c, &part(4096, SCRATCH as usize)), None);
    let overlapping = part(512, SCRATCH as usize);
    assert_eq!(refused(&c, &overlapping), Some(DeviceError::ScratchIsMatrix));
    let matrix = whole(16_384);
    let handle = matrix.get();
    // SAFETY: the second handle has a reference of its own.
    let again = unsafe {
        retain_mem_object(handle).unwrap();
        Buffer::new(handle)
    };
    let [matrix, again] = [matrix, again].map(|one| OpenClBuffer::new(one).unwrap());
    assert_eq!(refused(&matrix, &again), Some(DeviceError::ScratchIsMatrix));
}

#[test]
fn memory_that_is_too_small_or_of_another_device_is_refused() {
    let (Some(here), Some(elsewhere)) = (device(), device()) else { return };
    let mut kernel = here.build(&parted(3).program(ProblemClass::F32_NN)).unwrap();
    let matrices = matrices(&here);
    let arguments = |scratch| {
        let arguments = Arguments::new(&here, problem(), matrices.each_ref()).unwrap();
        arguments.with_scratch(&here, &parted(3), scratch)
    };
    let too_small = |have| Some(DeviceError::ScratchTooSmall { need: SCRATCH, have });
    assert_eq!(arguments(None).err(), too_small(0));
    let small = here.allocate(SCRATCH - 1).unwrap();
    assert_eq!(arguments(Some(&small)).err(), too_small(SCRATCH - 1));

    let foreign = elsewhere.allocate(SCRATCH).unwrap();
    let set = here.set_arguments(&mut kernel, &arguments(Some(&foreign)).unwrap());
    assert_eq!(set.err(), Some(DeviceError::Foreign("buffer")));

    let own = here.allocate(SCRATCH).unwrap();
    let given = arguments(Some(&own)).unwrap();
    let launches = parted(3).launches(given.problem());
    let armed = here.set_arguments(&mut kernel, &given).unwrap();
    assert!(here.enqueue(&armed, &launches[0], &[]).is_ok());
    let beyond = launches.clone().of(3);
    let refused = here.enqueue(&armed, &beyond[0], &[]).err();
    assert_eq!(refused, Some(DeviceError::NoFunction(3)));
}
