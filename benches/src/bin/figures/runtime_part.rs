//! The runtime: what a call costs the host beside the driver's enqueue alone, whether its steady state
//! leaves anything behind, and whole networks; measured here on PoCL, and as kept runs of other devices
//! tell. To add a group of figures: write its file under `runtime_part/`, then call it here.

mod calls;
mod networks;
mod steady;

use crate::figure::Sheet;

pub(crate) fn measure(sheet: &mut Sheet) -> anyhow::Result<()> {
    calls::measure(sheet)?;
    steady::measure(sheet)?;
    networks::measure(sheet)
}
