//! Other libraries that multiply, timed in turn with our kernels on the same device. To add one:
//! write its file under `peers/`, then list it in [`ALL`].
//!
//! A [`Stage`] is the device with what all share, a [`Task`] one problem with its matrices,
//! [`Record`] the file that a run grows, [`Summary`] what is read from it.

mod best;
mod class;
mod clblast;
mod cublas;
mod openblas;
mod others;
mod ours;
mod race;
mod record;
mod run;
mod shapes;
mod space;
mod stage;
mod summary;
mod timing;

use std::path::PathBuf;

pub use class::Class;
pub use device_runtime::clblast::CUT_SHORT;
pub use others::{BUSY, OTHERS, at_work, most_at_work};
pub use record::{Header, Record, RecordError, Row};
pub use run::{Options, Outcome, Progress, run};
pub use shapes::{FULLY_CONNECTED, SQUARE, named as shapes};
pub use stage::{Stage, Task};
pub use summary::{Ratios, Summary};
pub use timing::Plan;

/// One way to multiply on the device of a stage. All calls are given the same stage; those between
/// two calls of [`Self::begin`] the same task.
pub trait Peer {
    /// Which library this is, with its version where it tells one.
    fn version(&self) -> String;

    /// Make ready for `task`; nothing of this is timed.
    ///
    /// # Errors
    /// The peer cannot multiply such matrices.
    fn begin(&mut self, stage: &Stage<'_>, task: &Task) -> anyhow::Result<()>;

    /// What of its own the peer multiplies with, if it tells that.
    fn configuration(&self) -> String {
        String::new()
    }

    /// Multiply once. May return before it is done; calls are done one after the other.
    ///
    /// # Errors
    /// The library refuses.
    fn enqueue(&mut self, stage: &Stage<'_>, task: &Task) -> anyhow::Result<()>;

    /// Wait until all is done. Peers that do not use the stage's queue have their own way.
    ///
    /// # Errors
    /// A call failed.
    fn finish(&mut self, stage: &Stage<'_>) -> anyhow::Result<()> {
        stage.finish()
    }

    /// Let C hold NaN everywhere. Peers that do not use the stage's buffers have their own way.
    ///
    /// # Errors
    /// It cannot be written.
    fn clear(&mut self, stage: &Stage<'_>, task: &mut Task) -> anyhow::Result<()> {
        stage.clear(task)
    }

    /// What C holds now.
    ///
    /// # Errors
    /// It cannot be read.
    fn result(&mut self, stage: &Stage<'_>, task: &Task) -> anyhow::Result<Vec<f32>> {
        stage.read(task)
    }

    /// Nanoseconds of a call on the device that follows another, from the beginning of its first
    /// kernel to the end of its last; `None` if it tells no such time.
    ///
    /// # Errors
    /// The library refuses.
    fn device_nanoseconds(
        &mut self,
        _stage: &Stage<'_>,
        _task: &Task,
    ) -> anyhow::Result<Option<u64>> {
        Ok(None)
    }
}

/// A peer by name.
pub struct Entry {
    /// What runs call it.
    pub name: &'static str,
    /// Load it; an error says why it is not there.
    open: for<'a> fn(&Stage<'a>) -> anyhow::Result<Box<dyn Peer>>,
}

/// Every peer; ours first, since the others' results are compared with its.
pub static ALL: &[Entry] = &[
    Entry { name: OURS, open: ours::open },
    Entry { name: OURS_BEST, open: best::open },
    Entry { name: SPACE_BEST, open: space::open },
    Entry { name: CLBLAST, open: clblast::open },
    Entry { name: CLBLAST_TUNED, open: clblast::open_tuned },
    Entry { name: CUBLAS, open: cublas::open },
    Entry { name: OPENBLAS, open: openblas::open },
];

/// The bundle: its tree chooses the kernel.
pub const OURS: &str = "ours";
/// The bundle: the kernel of its list that is fastest here.
pub const OURS_BEST: &str = "ours-best";
/// Of the whole kernel space the configuration that is fastest here, as far as a data set tells.
pub const SPACE_BEST: &str = "space-best";
/// The three of ours.
pub const ALL_OF_OURS: [&str; 3] = [OURS, OURS_BEST, SPACE_BEST];
/// CLBlast with the parameters that it ships.
pub const CLBLAST: &str = "clblast";
/// CLBlast with parameters that its own tuners found on the device.
pub const CLBLAST_TUNED: &str = "clblast-tuned";
/// cuBLAS without tensor cores.
pub const CUBLAS: &str = "cublas";
/// OpenBLAS on as many threads as the device has compute units.
pub const OPENBLAS: &str = "openblas";

/// Where peers are looked for besides where the system has its libraries: files or folders.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// The data set that knows the fastest configurations of each shape.
    pub best_of: Option<PathBuf>,
    /// How many of these are tried for a shape, at least one.
    pub candidates: usize,
    /// CLBlast.
    pub clblast: Vec<PathBuf>,
    /// What `benches/peers/tune-clblast.sh` wrote.
    pub clblast_parameters: Option<PathBuf>,
    /// cuBLAS.
    pub cublas: Vec<PathBuf>,
    /// OpenBLAS.
    pub openblas: Vec<PathBuf>,
}
