//! A program with its model inside, as firmware has it: nothing here needs an allocator.
//!
//! `cargo run -p selector-core --example embed`; make a model of your own with `gemmtree train` and
//! put its file's name below.
#![allow(clippy::print_stdout, reason = "a program, not the library")]

use std::error::Error;
use std::sync::Mutex;

use selector_core::{CallSite, FastTree, GemmShape, KernelId, KernelMask, Model, ProblemClass};

static MODEL: &[u8] = include_bytes!("../tests/golden/three-trees.gtm");
/// One split fewer than leaves; the error of [`FastTree::load`] says how many a model has.
/// Elsewhere than here, use what guards a static there.
static TREE: Mutex<FastTree<'static, 64>> = Mutex::new(FastTree::empty());

/// Kernel families that this program can launch.
const FAMILIES: [u8; 2] = [1, 2];

fn main() -> Result<(), Box<dyn Error>> {
    let model = Model::parse(MODEL)?;
    let mut tree = TREE.lock().map_err(|_| "another thread panicked")?;
    tree.load(&model, ProblemClass::F32_NN)?;

    let ids = (1..).map(KernelId).zip(model.kernels());
    let usable = ids
        .filter(|(_, kernel)| FAMILIES.contains(&kernel.family))
        .fold(KernelMask::NONE, |mask, (id, _)| mask.with(id));

    // A network of two layers, each with its call site.
    let mut layers = [(784, 1152, 256), (196, 2304, 512)]
        .map(|(m, k, n)| (GemmShape::new(m, k, n, 1), CallSite::new(&tree)));
    for _inference in 0..2 {
        for (shape, site) in &mut layers {
            let kernel = site.choose(*shape).best_of(usable);
            match model.kernel(kernel) {
                Some(one) => println!("{shape}: family {}, {:?}", one.family, one.parameters),
                None => println!("{shape}: the universal kernel"),
            }
        }
    }
    Ok(())
}
