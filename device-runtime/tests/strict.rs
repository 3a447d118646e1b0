//! What OpenCL asks of a program and drivers seldom insist on, by a driver that does.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test ends by a panic")]

mod common;

use common::pretend::{context, device, is_pretending};
use device_runtime::compile::compile;
use device_runtime::opencl::{self, OpenClBuffer};
use device_runtime::{Arguments, Device, DeviceError, OpenCl, Runtime};
use fake_icd::{Fault, Rule, Script};
use kernels::bundle::Bundle;
use kernels::{Configuration, Operand, Problem, Program, reference};
use opencl3::context::Context;
use opencl3::memory::{Buffer, CL_MEM_READ_WRITE};
use opencl3::program::Program as ClProgram;
use selector_core::{GemmShape, ProblemClass};

const SIDE: u32 = 5;
const LENGTH: usize = 25;
const OUT_OF_RESOURCES: i32 = -5;
const MISALIGNED_SUB_BUFFER_OFFSET: i32 = -13;

fn problem() -> Problem {
    Problem::packed(ProblemClass::F32_NN, GemmShape::new(SIDE, SIDE, SIDE, 1))
}

fn matrix(device: &OpenCl, seed: u64) -> OpenClBuffer {
    let mut buffer = device.allocate(4 * LENGTH as u64).unwrap();
    device.write(&mut buffer, bytemuck::cast_slice(&reference::values(LENGTH, seed))).unwrap();
    buffer
}

fn expected() -> Vec<f32> {
    let (a, b) = (reference::values(LENGTH, 1), reference::values(LENGTH, 2));
    let mut c = vec![0.0; LENGTH];
    let length = LENGTH as u64;
    reference::gemm(&problem().check(length, length, length).unwrap(), &a, &b, &mut c);
    c
}

fn floats(device: &OpenCl, buffer: &OpenClBuffer, count: usize) -> Vec<f32> {
    let mut values = vec![0.0_f32; count];
    device.read(buffer, bytemuck::cast_slice_mut(&mut values)).unwrap();
    values
}

/// A configuration whose program has several functions.
fn of_steps() -> Configuration {
    let mut all = kernels::space::starter().into_iter();
    all.find(|one| one.program(ProblemClass::F32_NN).functions.len() > 1).unwrap()
}

/// Functions of a program that is made of a binary, as the driver counts them.
#[expect(unsafe_code, reason = "the caller's side of OpenCL")]
fn functions_in(device: &OpenCl, binary: &[u8]) -> usize {
    let context = device.context();
    // SAFETY: the context has this one device, and there is one binary for it.
    let program =
        unsafe { ClProgram::create_from_binary(context, context.devices(), &[binary]).unwrap() };
    program.get_num_kernels().unwrap()
}

#[test]
fn a_binary_is_taken_after_all_kernels_were_made_and_so_has_them() {
    let lazy = Script { lazy_kernels: true, ..Script::default() };
    if !is_pretending("a_binary_is_taken_after_all_kernels_were_made_and_so_has_them", &lazy) {
        return;
    }
    let device = device(0);
    let program = of_steps().program(ProblemClass::F32_NN);
    // The driver is one where it matters.
    let mut early = ClProgram::create_from_source(device.context(), program.source).unwrap();
    early.build(device.context().devices(), &program.options).unwrap();
    assert_eq!(functions_in(&device, &early.get_binaries().unwrap()[0]), 0);

    let binary = device.binary(&device.build(&program).unwrap()).unwrap();
    assert_eq!(functions_in(&device, &binary), program.functions.len());
    device.load(&program, &binary).unwrap();

    // A whole bundle: each of its programs has all its functions, and all its kernels are loaded.
    let kernels = [of_steps(), "tile:4x4x8@8x8".parse().unwrap()];
    let model = common::of_kernels(&kernels, &[ProblemClass::F32_NN], Some(kernels::space::hash()));
    let bytes = compile(&device, &model, &[], |_| {}).unwrap();
    let bundle = Bundle::parse(&bytes).unwrap();
    for configuration in &bundle.kernels {
        let program = configuration.program(ProblemClass::F32_NN);
        let kept = bundle.programs.iter().find(|one| one.name == program.name).unwrap();
        assert_eq!(functions_in(&device, kept.binary), program.functions.len(), "{}", kept.name);
    }
    let runtime = Runtime::load(device, &bundle).unwrap();
    assert_eq!(runtime.left_out(), []);
}

#[test]
fn a_program_from_a_binary_is_built_for_its_one_device_and_runs_on_no_other() {
    let devices = ["one", "two"].map(str::to_owned).to_vec();
    let two = Script { devices, ..Script::default() };
    let name = "a_program_from_a_binary_is_built_for_its_one_device_and_runs_on_no_other";
    if !is_pretending(name, &two) {
        return;
    }
    let [one, other] = [0, 1].map(device);
    let program = Configuration::universal().program(ProblemClass::F32_NN);
    let binary = one.binary(&one.build(&program).unwrap()).unwrap();
    // This driver gives no kernel of a program that was not built, from a binary or not.
    let mut kernel = one.load(&program, &binary).unwrap();
    let here = [1, 2, 3].map(|seed| matrix(&one, seed));
    let there = [1, 2, 3].map(|seed| matrix(&other, seed));
    let arguments = Arguments::new(&one, problem(), here.each_ref()).unwrap();
    let elsewhere = Arguments::new(&other, problem(), there.each_ref()).unwrap();
    let foreign = Some(DeviceError::Foreign("kernel"));
    assert_eq!(other.set_arguments(&mut kernel, &elsewhere).err(), foreign);
    let launches = Configuration::universal().launches(arguments.problem());
    let armed = one.set_arguments(&mut kernel, &arguments).unwrap();
    for launch in launches.iter() {
        assert_eq!(other.launch(&armed, launch, &[]), Err(DeviceError::Foreign("kernel")));
        one.launch(&armed, launch, &[]).unwrap();
    }
    assert_eq!(floats(&one, &here[2], LENGTH), expected());
}

#[test]
fn a_context_of_several_devices_is_refused_since_a_program_has_one_binary() {
    let devices = ["one", "two"].map(str::to_owned).to_vec();
    let two = Script { devices, ..Script::default() };
    let name = "a_context_of_several_devices_is_refused_since_a_program_has_one_binary";
    if !is_pretending(name, &two) {
        return;
    }
    let refused = OpenCl::with_context(context(&[0, 1])).err();
    assert_eq!(refused, Some(DeviceError::Foreign("context of several devices")));
    for number in [0, 1] {
        let device = OpenCl::with_context(context(&[number])).unwrap();
        assert_eq!(device.context().devices().len(), 1);
        let program = Configuration::universal().program(ProblemClass::F32_NN);
        let binary = device.binary(&device.build(&program).unwrap()).unwrap();
        device.load(&program, &binary).unwrap();
    }
}

#[test]
fn a_program_whose_texts_end_early_in_c_is_refused() {
    if !is_pretending("a_program_whose_texts_end_early_in_c_is_refused", &Script::default()) {
        return;
    }
    let device = device(0);
    let good = Configuration::universal().program(ProblemClass::F32_NN);
    let binary = device.binary(&device.build(&good).unwrap()).unwrap();
    let options = format!("{}\0", good.options);
    for bad in
        [Program { functions: &["ge\0mm"], ..good.clone() }, Program { options, ..good.clone() }]
    {
        for refused in [device.build(&bad).err(), device.load(&bad, &binary).err()] {
            assert!(matches!(refused, Some(DeviceError::ZeroByte { .. })), "{refused:?}");
        }
    }
    // A function that is not in the program is the driver's to refuse.
    let other = Program { functions: &["other"], ..good };
    let refused = device.build(&other).err();
    let Some(DeviceError::Call { call: "clCreateKernel", code: -46, .. }) = refused else {
        panic!("{refused:?}");
    };
}

#[test]
fn a_device_that_does_not_say_what_it_is_hides_no_other() {
    let devices = ["one", "two"].map(str::to_owned).to_vec();
    let first = Rule::new("clGetDeviceInfo", Fault::Fail(OUT_OF_RESOURCES)).times(1);
    let sick = Script { devices, ..Script::default() }.with(first);
    if !is_pretending("a_device_that_does_not_say_what_it_is_hides_no_other", &sick) {
        return;
    }
    let Some(DeviceError::NoDevice { have, .. }) = OpenCl::open(Some("three")).err() else {
        panic!("there is no such device")
    };
    assert!(have.len() == 2 && have[0].starts_with("0:1  two"), "{have:?}");
    assert!(have[1].starts_with("0:0  cannot be used: clGetDeviceInfo failed"), "{have:?}");
    // It is well again.
    assert_eq!(opencl::devices().unwrap().len(), 2);
}

#[test]
fn a_context_for_which_there_is_no_queue_is_given_back_even_where_that_is_refused() {
    let fails = |at| Rule::new(at, Fault::Fail(OUT_OF_RESOURCES));
    let script = Script::default().with(fails("clCreateCommandQueue"));
    let script = script.with(fails("clReleaseContext"));
    let name = "a_context_for_which_there_is_no_queue_is_given_back_even_where_that_is_refused";
    if !is_pretending(name, &script) {
        return;
    }
    let error = OpenCl::with_context(context(&[0])).err();
    let Some(DeviceError::Call { call: "clCreateCommandQueue", .. }) = error else {
        panic!("{error:?}")
    };
    assert_eq!(opencl::refused_releases(), 1);
    // Nor is a context that lists no device asked for one.
    let held = std::mem::ManuallyDrop::new(context(&[0]));
    let none = Context::new(held.get(), &[]);
    let error = OpenCl::with_context(none).err();
    assert_eq!(error, Some(DeviceError::Foreign("context without a device")));
}

/// The kinds of objects.
const KINDS: [&str; 6] = ["CommandQueue", "Context", "Event", "Kernel", "MemObject", "Program"];

#[test]
fn a_driver_that_releases_nothing_ends_no_process() {
    let refuses = |script: Script, kind| {
        script.with(Rule::new(&format!("clRelease{kind}"), Fault::Fail(-36)))
    };
    let stubborn = KINDS.into_iter().fold(Script::default(), refuses);
    if !is_pretending("a_driver_that_releases_nothing_ends_no_process", &stubborn) {
        return;
    }
    let device = device(0);
    let model = common::model(&[ProblemClass::F32_NN]);
    let bytes = compile(&device, &model, &[], |_| {}).unwrap();
    let bundle = Bundle::parse(&bytes).unwrap();
    let mut runtime = Runtime::load(device, &bundle).unwrap();
    runtime.want_events(true);
    let [a, b, c] = [1, 2, 3].map(|seed| matrix(runtime.device(), seed));
    let call = runtime.gemm(problem(), [&a, &b, &c]).unwrap();
    assert_eq!(floats(runtime.device(), &c, LENGTH), expected());
    let mut before = opencl::refused_releases();
    let mut more = || {
        let now = opencl::refused_releases();
        std::mem::replace(&mut before, now) < now
    };
    drop(call);
    assert!(more());
    drop([a, b, c]);
    assert!(more());
    drop(runtime);
    assert!(more());
}

/// Multiply with matrices that begin `origin` bytes behind the beginning of their buffers.
#[expect(unsafe_code, reason = "the caller's side of OpenCL")]
fn in_sub_buffers(device: &OpenCl, origin: usize) -> Result<Vec<f32>, i32> {
    let mut parts = Vec::new();
    for seed in [1, 2, 3] {
        let bytes = origin + 4 * LENGTH;
        let null = std::ptr::null_mut();
        // SAFETY: no host pointer is given, and the part lies within the whole.
        let part = unsafe {
            let whole =
                Buffer::<u8>::create(device.context(), CL_MEM_READ_WRITE, bytes, null).unwrap();
            whole.create_sub_buffer(CL_MEM_READ_WRITE, origin, 4 * LENGTH)
        };
        // What the driver refuses never comes to us.
        let part = part.map_err(|error| error.0)?;
        let mut part = match OpenClBuffer::new(part) {
            Err(DeviceError::Misaligned { address, .. }) if address == origin as u64 => {
                return Err(MISALIGNED_SUB_BUFFER_OFFSET);
            }
            other => other.unwrap(),
        };
        device.write(&mut part, bytemuck::cast_slice(&reference::values(LENGTH, seed))).unwrap();
        parts.push(part);
    }
    common::call(device, &Configuration::universal(), problem(), [&parts[0], &parts[1], &parts[2]]);
    Ok(floats(device, &parts[2], LENGTH))
}

/// The same by the offset of the elements.
fn by_offset(device: &OpenCl, origin: usize) -> Vec<f32> {
    let before = origin / 4;
    let [a, b, c] = [1, 2, 3].map(|seed| {
        let values = [vec![f32::NAN; before], reference::values(LENGTH, seed)].concat();
        let mut buffer = device.allocate(4 * values.len() as u64).unwrap();
        device.write(&mut buffer, bytemuck::cast_slice(&values)).unwrap();
        buffer
    });
    let offset = before as u64;
    let shifted = |operand: Operand| Operand { offset, ..operand };
    let packed = problem();
    let (of_a, of_b, of_c) = (shifted(packed.a), shifted(packed.b), shifted(packed.c));
    let problem = Problem { a: of_a, b: of_b, c: of_c, ..packed };
    common::call(device, &Configuration::universal(), problem, [&a, &b, &c]);
    floats(device, &c, before + LENGTH).split_off(before)
}

/// Where matrices may begin is the same on every driver: at each 16 bytes that it lets a sub-buffer begin at, and
/// at each element by the offset.
fn matrices_begin_where_they_may(device: &OpenCl, refused_by_the_driver: &[usize]) {
    for origin in [0, 128, 1024, 64, 16, 4, 8, 100] {
        assert_eq!(by_offset(device, origin), expected(), "{origin}");
        let begins_between = !origin.is_multiple_of(16) || refused_by_the_driver.contains(&origin);
        match in_sub_buffers(device, origin) {
            Ok(found) => assert!(!begins_between && found == expected(), "{origin}: {found:?}"),
            Err(code) => {
                assert!(begins_between && code == MISALIGNED_SUB_BUFFER_OFFSET, "{origin}: {code}")
            }
        }
    }
}

#[test]
fn matrices_begin_at_the_drivers_alignment_or_at_an_element_of_their_buffer() {
    let name = "matrices_begin_at_the_drivers_alignment_or_at_an_element_of_their_buffer";
    if is_pretending(name, &Script::default()) {
        // 1024 bits are 128 bytes.
        matrices_begin_where_they_may(&device(0), &[64, 16]);
    }
}

#[test]
fn a_driver_that_lets_sub_buffers_begin_anywhere_changes_no_result() {
    let loose = Script { loose_sub_buffers: true, ..Script::default() };
    if is_pretending("a_driver_that_lets_sub_buffers_begin_anywhere_changes_no_result", &loose) {
        matrices_begin_where_they_may(&device(0), &[]);
    }
}
