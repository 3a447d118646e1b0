//! Our own data sets, to merge several of one device and kernel space.

use super::{Beta, Format, ImportError, ImportedRow, Name, Part, Source, Told};
use crate::dataset::{Measurement, Rows};

/// Data sets as `gemmtree-board` writes them, or plain tables.
pub(super) struct Gemmtree;

impl Format for Gemmtree {
    fn name(&self) -> &'static str {
        "gemmtree"
    }

    fn about(&self) -> &'static str {
        "a data set of ours, to merge with others"
    }

    fn recognise(&self, head: &str) -> bool {
        let names = head.lines().find(|line| !line.starts_with('#')).unwrap_or_default();
        let names: Vec<&str> = names.split(',').map(str::trim).collect();
        let has = |name: &str| names.contains(&name);
        ["m", "k", "n", "batch"].into_iter().all(has) && (has("configuration") || has("wg_row"))
    }

    fn read(&self, source: &Source<'_>, told: &Told) -> Result<Part, ImportError> {
        let text = String::from_utf8_lossy(source.bytes);
        let names = text.lines().find(|line| !line.starts_with('#')).unwrap_or_default();
        let class_is_assumed = !names.split(',').any(|name| name.trim() == "class");
        let Rows { mut header, counts, measurements } = Rows::read(source.path, source.bytes)?;
        header.device = told.device(&header.device, source.path)?;
        // Boards measure with beta 0; tables without a space come from elsewhere.
        let beta = if header.space.is_some() { Beta::Zero } else { Beta::Unknown };
        let row = |measurement| {
            let Measurement { task, configuration, status, times, spread, binary_bytes } =
                measurement;
            let name = Name::parse(&configuration);
            ImportedRow { task, name, status, times, spread, beta, binary_bytes }
        };
        let rows = measurements.into_iter().map(row).collect();
        Ok(Part { header, counts, rows, class_is_assumed, told_shape: None })
    }
}
