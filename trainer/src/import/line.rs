//! A row of a data set as it is written: in whole nanoseconds.

use kernels::measurement::{Row, Status};
use selector_core::GemmShape;

use super::ImportedRow;
use crate::dataset::{RowCounts, Task, natural_order};

/// A row as it is written.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Line {
    pub(super) task: Task,
    pub(super) name: String,
    pub(super) status: Status,
    samples: Vec<u64>,
    spread: Option<u64>,
    /// Whether the samples are written beside their median.
    sampled: bool,
    binary_bytes: Option<u64>,
}

impl Line {
    /// The row in whole nanoseconds, unless that is no time.
    pub(super) fn of(row: ImportedRow, ours: bool, counts: &mut RowCounts) -> Option<Self> {
        let ImportedRow { task, name, status, times, spread, binary_bytes, .. } = row;
        // A `throttled` row without a time says nothing either.
        let timed = matches!(status, Status::Ok | Status::Throttled);
        let samples: Vec<u64> = times.iter().filter_map(|time| whole(*time)).collect();
        if timed && (samples.is_empty() || samples.len() < times.len()) {
            counts.drop_row("time below a nanosecond");
            return None;
        }
        // One time of another program is a mean or a minimum: no sample.
        let sampled = samples.len() > 1 || ours;
        let spread = spread.filter(|spread| spread.is_finite() && *spread >= 0.0);
        let spread = spread.map(|spread| spread.round() as u64);
        let name = name.to_string();
        Some(Self { task, name, status, samples, spread, sampled, binary_bytes })
    }

    /// By task, then by name, then whatever differs.
    pub(super) fn order(&self, other: &Self) -> std::cmp::Ordering {
        let key = |line: &Self| {
            let Self { status, spread, sampled, binary_bytes, .. } = *line;
            (status, line.samples.clone(), spread, sampled, binary_bytes)
        };
        (self.task.cmp(&other.task))
            .then_with(|| natural_order(&self.name, &other.name))
            .then_with(|| key(self).cmp(&key(other)))
    }

    /// The columns, in their order.
    pub(super) fn fields(&self) -> [String; 11] {
        let Task { class, shape } = self.task;
        let GemmShape { m, k, n, batch } = shape;
        let row = Row {
            shape,
            class,
            configuration: String::new(),
            status: self.status,
            samples: self.samples.clone(),
            binary_bytes: self.binary_bytes,
        };
        let spread = if self.sampled { row.spread().max(self.spread) } else { self.spread };
        let text = |number: Option<u64>| number.map(|number| number.to_string());
        let samples = self.samples.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
        [
            m.to_string(),
            k.to_string(),
            n.to_string(),
            batch.to_string(),
            class.to_string(),
            self.name.clone(),
            self.status.to_string(),
            text(row.median()).unwrap_or_default(),
            text(spread.filter(|_| row.median().is_some())).unwrap_or_default(),
            if self.sampled { samples } else { String::new() },
            text(self.binary_bytes).unwrap_or_default(),
        ]
    }
}

/// Whole nanoseconds, at least one.
fn whole(time: f64) -> Option<u64> {
    let rounded = time.round();
    (rounded >= 1.0 && rounded < u64::MAX as f64).then_some(rounded as u64)
}

#[cfg(test)]
mod tests {
    use selector_core::ProblemClass;

    use super::super::{Beta, Name};
    use super::*;

    fn fields(status: Status, times: &[f64], spread: Option<f64>, ours: bool) -> Option<String> {
        let row = ImportedRow {
            task: Task { class: ProblemClass::F32_NN, shape: GemmShape::new(7, 8, 9, 1) },
            name: Name::parse("a"),
            status,
            times: times.to_vec(),
            spread,
            beta: Beta::Unknown,
            binary_bytes: (status == Status::Ok && ours).then_some(4096),
        };
        let line = Line::of(row, ours, &mut RowCounts::default())?;
        Some(line.fields()[6..].join(","))
    }

    #[test]
    fn samples_are_written_with_their_median_and_spread() {
        let written = |times, spread, ours| fields(Status::Ok, times, spread, ours).unwrap();
        assert_eq!(
            written(&[50e3, 1e3, 1.01e3, 1e3, 1.02e3], None, false),
            "ok,1010,10,50000 1000 1010 1000 1020,"
        );
        assert_eq!(written(&[10.0, 12.0], Some(5.4), false), "ok,10,5,10 12,");
        assert_eq!(written(&[10.4], Some(2.0), false), "ok,10,2,,");
        assert_eq!(written(&[10.4], None, false), "ok,10,,,");
        assert_eq!(written(&[10.0], None, true), "ok,10,0,10,4096");
    }

    #[test]
    fn what_is_no_whole_time_is_not_written() {
        for bad in [0.4, 0.0, -3.0, f64::NAN, f64::INFINITY, 1e30] {
            assert_eq!(fields(Status::Ok, &[5.0, bad], None, true), None, "{bad}");
        }
        assert_eq!(fields(Status::Throttled, &[], None, true), None);
        assert_eq!(fields(Status::TimedOut, &[], Some(f64::NAN), true).unwrap(), "timed_out,,,,");
    }
}
