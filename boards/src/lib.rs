//! Boards: what they are, how to reach one, and how to replace its bundle safely.
//!
//! A [`Board`] is a file, never code. [`reach::open`] gives a way to its folder and to the program
//! `gemmtree-board` there; everything that touches a device goes through it, for a laptop as for a
//! phone. [`flash`] replaces the bundle so that at every moment a whole one is in place.
//!
//! ```
//! let board = boards::find("pocl-cpu")?;
//! assert_eq!(board.over(), "local");
//! # Ok::<(), boards::BoardError>(())
//! ```

mod board;
pub mod compiled;
mod digest;
mod field;
mod flash;
mod offer;
pub mod reach;

pub use board::{ALL, Board, BoardError, Device, DeviceLimits, ReachBy, Tier, find};
pub use digest::Digest;
pub use field::{FieldError, Folder, Host, Label};
pub use flash::{CURRENT, FlashError, Flashed, PREVIOUS, deliver, flash};
pub use offer::{FamilyName, Offer, Unoffered};
