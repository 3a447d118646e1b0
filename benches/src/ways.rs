//! Ways to choose a kernel, all behind one signature, so that each is called alike and none is
//! inlined. To add one: write its file under `ways/`, then list it in [`all`].

mod emlearn;
mod ifs;
mod linfa;
mod ours;

use std::ffi::c_void;
use std::hint::black_box;

use anyhow::ensure;
use selector_core::{GemmShape, Model, ProblemClass};

use crate::shapes::{LAYERS, shuffled};

/// From a shape to the first kernel's id. The context is what the way needs.
///
/// # Safety
/// The context is one of those that the way's maker gave with this function, and no other call
/// with it runs.
pub(crate) type Choose =
    unsafe extern "C" fn(context: *mut c_void, m: u32, k: u32, n: u32, batch: u32) -> u8;

/// The class of the models that are measured.
pub const CLASS: ProblemClass = ProblemClass::F32_NN;

/// One way, ready to be called.
pub struct Way<'a> {
    /// What figures call it.
    pub name: &'static str,
    /// Whether it answers as the model does; a tree of another library is only like it.
    pub exact: bool,
    choose: Choose,
    /// One for all calls, or one for each call site of a repeating stream.
    contexts: Contexts,
    /// What the function and the contexts live in.
    _keep: Box<dyn Keep + 'a>,
}

enum Contexts {
    One(*mut c_void),
    PerSite([*mut c_void; LAYERS]),
}

/// Anything that is only kept.
trait Keep {}
impl<T> Keep for T {}

impl Way<'_> {
    /// Choose for every shape of a stream and add the choices up. Shape `i` belongs to call site
    /// `i` modulo 16.
    pub fn pass(&mut self, shapes: &[GemmShape]) -> u64 {
        self.calls::<false>(shapes)
    }

    /// The same, but each call waits for the choice before it: what one choice takes from shape to
    /// kernel, where nothing else can be done meanwhile.
    pub fn dependent_pass(&mut self, shapes: &[GemmShape]) -> u64 {
        self.calls::<true>(shapes)
    }

    #[inline(never)]
    fn calls<const DEPENDENT: bool>(&mut self, shapes: &[GemmShape]) -> u64 {
        // What of a choice reaches the next shape: nothing, but the compiler cannot know.
        let (kept, mut last) = (black_box(0), 0);
        let contexts = match self.contexts {
            Contexts::One(context) => [context; LAYERS],
            Contexts::PerSite(contexts) => contexts,
        };
        let mut sum = 0;
        for (place, shape) in shapes.iter().enumerate() {
            let GemmShape { m, k, n, batch } = *shape;
            let context = contexts[place % LAYERS];
            // SAFETY: function and contexts come from the same maker and live in `_keep`; `self`
            // is borrowed for writing, so no other call runs.
            #[allow(unsafe_code, reason = "a foreign function, to call all ways alike")]
            let choice = unsafe { (self.choose)(context, m ^ last, k, n, batch) };
            if DEPENDENT {
                last = u32::from(choice) & kept;
            }
            sum += u64::from(choice);
        }
        sum
    }

    /// The choice for one shape.
    pub fn first(&mut self, shape: GemmShape) -> u8 {
        self.pass(&[shape]) as u8
    }
}

/// What a call alone takes.
fn nothing() -> Way<'static> {
    extern "C" fn choose(_: *mut c_void, m: u32, _: u32, _: u32, _: u32) -> u8 {
        m as u8
    }
    let contexts = Contexts::One(std::ptr::null_mut());
    Way { name: "call-only", exact: false, choose, contexts, _keep: Box::new(()) }
}

/// Every way for a model; those that answer as the model does are checked on 4096 shapes.
///
/// # Errors
/// A compiler is missing or fails, or a way answers otherwise.
pub fn all<'a>(model: &'a Model<'a>) -> anyhow::Result<Vec<Way<'a>>> {
    let mut ways = vec![
        nothing(),
        ifs::c(model)?,
        ifs::rust(model)?,
        ours::fast(model)?,
        ours::sites(model)?,
        ours::walk(model),
        linfa::tree(model)?,
    ];
    ways.extend(emlearn::tree(model)?);
    for way in ways.iter_mut().filter(|way| way.exact) {
        for shape in shuffled(7)() {
            let (found, expected) = (way.first(shape), model.select(CLASS, shape).first().0);
            ensure!(found == expected, "{} answers {found} for {shape}, not {expected}", way.name);
        }
    }
    Ok(ways)
}
