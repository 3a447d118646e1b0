//! The runtime: what it takes beside what it computes.

mod networks;

use crate::figure::Sheet;

pub(crate) fn measure(sheet: &mut Sheet) -> anyhow::Result<()> {
    networks::measure(sheet)
}
