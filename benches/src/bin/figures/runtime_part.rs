//! The runtime: what a call costs the host beside the driver's enqueue alone, what its tests stand for, and
//! whole networks; measured here on PoCL, and as kept runs of other devices
//! tell. To add a group of figures: write its file under `runtime_part/`, then call it here.

mod calls;
mod claims;
mod networks;

use crate::figure::Sheet;

pub(crate) fn measure(sheet: &mut Sheet) -> anyhow::Result<()> {
    calls::measure(sheet)?;
    claims::measure(sheet)?;
    networks::measure(sheet)
}
