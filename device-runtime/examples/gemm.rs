//! Multiply two matrices through a bundle: `cargo run --example gemm -- model.gtb`.
#![expect(clippy::print_stderr, reason = "an example tells its user")]

use std::error::Error;
use std::{env, fs};

use device_runtime::ladder::{InProcess, Options, Source, climb};
use device_runtime::{Device, OpenCl};
use kernels::Problem;
use selector_core::{GemmShape, ProblemClass};

fn main() -> Result<(), Box<dyn Error>> {
    let path = env::args().nth(1).ok_or("name a bundle, e.g. build/demo/model.gtb")?;
    let bytes = fs::read(path)?;
    let device = OpenCl::open(None)?;
    // Checked in full before a driver sees a byte; what its binaries do not serve is built from source.
    let source = Source::Bundle(&bytes);
    let standing = climb(&device, source, Options::default(), &mut InProcess(&device))?;
    for warning in standing.report().warnings() {
        eprintln!("warning: {warning}");
    }
    let mut runtime = standing.load(device)?;

    // C = A·B with A 2×3 and B 3×2, row-major.
    let buffer = |values: &[f32]| {
        let mut buffer = runtime.device().allocate(4 * values.len() as u64)?;
        runtime.device().write(&mut buffer, bytemuck::cast_slice(values))?;
        Ok::<_, Box<dyn Error>>(buffer)
    };
    let a = buffer(&[1., 2., 3., 4., 5., 6.])?;
    let b = buffer(&[1., 2., 3., 4., 5., 6.])?;
    let c = buffer(&[0.; 4])?;

    // Selects the kernel, sets its arguments and enqueues it.
    let problem = Problem::packed(ProblemClass::F32_NN, GemmShape::new(2, 3, 2, 1));
    runtime.gemm(problem, [&a, &b, &c])?;
    runtime.device().finish()?;

    let mut product = [0.0f32; 4];
    runtime.device().read(&c, bytemuck::cast_slice_mut(&mut product))?;
    assert_eq!(product, [22., 28., 49., 64.]);
    #[expect(clippy::print_stdout, reason = "it is an example")]
    {
        println!("right");
    }
    Ok(())
}
