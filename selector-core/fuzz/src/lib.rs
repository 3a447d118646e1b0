//! What the fuzz targets share: sealing payloads, mending trees, a second evaluation and the
//! checks that every accepted model must pass.

mod check;
#[path = "../../tests/common/plain.rs"]
mod plain;
mod question;
mod sealing;

pub use check::{check_answers, check_model};
pub use plain::{plain_select, plain_value};
pub use question::Questions;
pub use sealing::{HEADER, mended, seal, sealed, whole};
