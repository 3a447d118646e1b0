//! Chooses a kernel for every shape of a file, some times over, and does nothing else: for
//! counting instructions.
//!
//! `pass MODEL SHAPES WAY PASSES`: shapes are four little-endian u32 each, m, k, n and batch; ways
//! are `walk`, `fast` and `fast-site`, which gives each of 16 call sites its memo.
#![allow(clippy::indexing_slicing, clippy::print_stdout, reason = "a program, not the library")]

use std::error::Error;
use std::hint::black_box;
use std::{env, fs};

use selector_core::{CallSite, FastTree, GemmShape, Model, ProblemClass};

const CLASS: ProblemClass = ProblemClass::F32_NN;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [model, shapes, way, passes] = &arguments[..] else {
        return Err("usage: pass MODEL SHAPES walk|fast|fast-site PASSES".into());
    };
    let (blob, shapes) = (fs::read(model)?, fs::read(shapes)?);
    let model = Model::parse(&blob)?;
    let (words, _) = shapes.as_chunks::<4>();
    let (quads, _) = words.as_chunks::<4>();
    let shapes: Vec<_> = quads.iter().map(|quad| quad.map(u32::from_le_bytes)).collect();
    let shapes: Vec<_> = shapes.iter().map(|[m, k, n, b]| GemmShape::new(*m, *k, *n, *b)).collect();
    let tree = Box::new(FastTree::<1280>::new(&model, CLASS)?);
    let mut sites: [_; 16] = std::array::from_fn(|_| CallSite::new(&*tree));
    let mut sum = 0u64;
    for _ in 0..passes.parse()? {
        for (place, shape) in shapes.iter().enumerate() {
            let kernel = match way.as_str() {
                "walk" => walk(&model, *shape),
                "fast" => fast(&tree, *shape),
                "fast-site" => at_site(&mut sites[place % 16], *shape),
                _ => return Err("the ways are walk, fast and fast-site".into()),
            };
            sum += u64::from(black_box(kernel));
        }
    }
    println!("{sum}");
    Ok(())
}

#[inline(never)]
fn walk(model: &Model<'_>, shape: GemmShape) -> u8 {
    model.select(CLASS, shape).first().0
}

#[inline(never)]
fn fast(tree: &FastTree<'_, 1280>, shape: GemmShape) -> u8 {
    tree.choose(shape).first().0
}

#[inline(never)]
fn at_site(site: &mut CallSite<'_, '_, 1280>, shape: GemmShape) -> u8 {
    site.choose(shape).first().0
}
