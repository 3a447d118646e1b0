//! The trainer: what the default method reaches, beside all others, on the data of two devices.

mod agreement;
mod comparison;
mod reference;
mod scores;
mod tables;

use self::reference::Reference;
use crate::figure::Sheet;

const H200: &str = "trainer/data/h200-tile640.csv.gz";
const XEON: &str = "trainer/data/xeon-tile208.csv.gz";
const SPLITS: &str = "trainer/data/splits-h200.csv";
/// Kernels with which the reference has classifiers.
const COUNTS_OF_CLASSIFIERS: [&str; 4] = ["5", "6", "8", "15"];

pub(crate) fn measure(sheet: &mut Sheet) -> anyhow::Result<()> {
    let reference = Reference::open()?;
    scores::h200(sheet, &reference)?;
    scores::xeon(sheet)?;
    comparison::measure(sheet, &reference)
}
