//! What the tests of the report page look at it with.

pub(crate) mod browser;
pub(crate) mod markup;
