//! A whole network on the device: its multiplications by several peers in turn and, for chains of
//! layers, the inference with all that is between them.
//!
//! [`Plan`] says what is done, [`Stage`] has the memory and does it, a [`Peer`] multiplies. [`check`](fn@check)
//! compares every layer with sums in double precision, [`race`](fn@race) takes the times, a
//! [`Report`] tells them and a [`Record`] reads them back.

mod check;
mod host;
mod one;
mod peer;
mod plan;
mod race;
mod record;
mod report;
mod stage;

use crate::{DeviceError, RuntimeError};

pub use check::{Checked, agree, check};
pub use host::inference;
pub use one::one_best;
pub use peer::Peer;
pub use plan::{Distinct, Part, Plan, Step};
pub use race::{Options, Samples, Times, race};
pub use record::{Record, RecordError};
pub use report::{Header, LayerLine, PeerLine, Report, Spread};
pub use stage::Stage;

/// Why a network is not run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NetworkError {
    /// A library that multiplies refuses.
    #[error("{peer} does not multiply {shape}")]
    Peer {
        /// Which.
        peer: &'static str,
        /// The sizes.
        shape: String,
        /// Its words.
        #[source]
        cause: crate::clblast::ClblastError,
    },
    /// The device failed.
    #[error("the device failed")]
    Device(#[from] DeviceError),
    /// Two peers' results are too far apart.
    #[error("the results of {peer} and {other} differ by {difference:e} of the largest value")]
    Disagree {
        /// One.
        peer: String,
        /// The other.
        other: String,
        /// How far, as a share of the largest value.
        difference: f64,
    },
    /// Layers that do not follow each other.
    #[error(
        "{layer} does not take what the layer before gives: only chains of layers are run whole; their \
         multiplications alone can be timed"
    )]
    NotAChain {
        /// Its name.
        layer: String,
    },
    /// The bundle's runtime refuses.
    #[error("the runtime does not multiply")]
    Runtime(#[from] RuntimeError),
    /// A value is wrong.
    #[error("{peer}: value {position} of {layer} is {found}, should be {expected} ± {bound:e}")]
    Wrong {
        /// Who multiplied.
        peer: String,
        /// Which layer.
        layer: String,
        /// Position in its buffer.
        position: u64,
        /// The value found.
        found: f64,
        /// The value in double precision.
        expected: f64,
        /// How far it may be off.
        bound: f64,
    },
}
