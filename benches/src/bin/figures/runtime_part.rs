//! The runtime: what a call costs the host beside the driver's enqueue alone, what its tests stand for, what
//! becomes of a driver's faults, and whole networks; measured here on PoCL, and as kept runs of other devices
//! tell. To add a group of figures: write its file under `runtime_part/`, then call it here.

mod calls;
mod claims;
mod faults;
mod networks;

use crate::figure::Sheet;

pub(crate) fn measure(sheet: &mut Sheet) -> anyhow::Result<()> {
    calls::measure(sheet)?;
    claims::measure(sheet)?;
    faults::measure(sheet)?;
    networks::measure(sheet)
}
