//! What a record says: how many times faster we are than each peer, over all shapes and by class.

use std::collections::BTreeMap;

use selector_core::GemmShape;

use super::{Class, Record, Row};

/// A record, asked by peer and shape.
pub struct Summary<'a> {
    by_peer: BTreeMap<&'a str, BTreeMap<GemmShape, &'a Row>>,
}

/// How many times faster one peer is than another, over some shapes.
#[derive(Clone, Debug, PartialEq)]
pub struct Ratios {
    /// A shape each, the least ratio first; ties by shape.
    sorted: Vec<(f64, GemmShape)>,
}

impl<'a> Summary<'a> {
    /// The summary of a record.
    #[must_use]
    pub fn new(record: &'a Record) -> Self {
        let mut by_peer: BTreeMap<&str, BTreeMap<GemmShape, &Row>> = BTreeMap::new();
        for row in &record.rows {
            by_peer.entry(&row.peer).or_default().insert(row.shape, row);
        }
        Self { by_peer }
    }

    /// The row of a peer for a shape, if it has times.
    #[must_use]
    pub fn row(&self, peer: &str, shape: GemmShape) -> Option<&'a Row> {
        let row = *self.by_peer.get(peer)?.get(&shape)?;
        row.failure().is_none().then_some(row)
    }

    /// The rows of a peer that have no times.
    pub fn failures(&self, peer: &str) -> impl Iterator<Item = &'a Row> {
        let rows = self.by_peer.get(peer).into_iter().flat_map(BTreeMap::values).copied();
        rows.filter(|row| row.failure().is_some())
    }

    /// Whether there are rows of a peer.
    #[must_use]
    pub fn has(&self, peer: &str) -> bool {
        self.by_peer.contains_key(peer)
    }

    /// How many times faster `ours` is than `theirs` by [`Row::ratio_of`], on each shape of `class`
    /// that both have times of; `None` without such a shape.
    #[must_use]
    pub fn ratios(&self, ours: &str, theirs: &str, class: Class) -> Option<Ratios> {
        let shapes = self.by_peer.get(ours)?.keys().filter(|shape| class.contains(**shape));
        let ratio = |shape: &GemmShape| {
            let ratio = self.row(ours, *shape)?.ratio_of(self.row(theirs, *shape)?)?;
            Some((ratio, *shape))
        };
        Ratios::new(shapes.filter_map(ratio).collect())
    }

    /// How far a peer's samples lie apart: the distance from the first to the ninth tenth as a share
    /// of the median, the median over shapes.
    #[must_use]
    pub fn spread(&self, peer: &str) -> Option<f64> {
        let rows = self.by_peer.get(peer)?.values();
        let mut spreads: Vec<f64> = rows.filter_map(|row| spread(&row.sorted())).collect();
        spreads.sort_by(f64::total_cmp);
        quantile(&spreads, 0.5)
    }
}

fn spread(sorted: &[f64]) -> Option<f64> {
    let (low, high) = (quantile(sorted, 0.1)?, quantile(sorted, 0.9)?);
    // Rounding may set equal ones a little apart.
    Some((high - low).max(0.0) / quantile(sorted, 0.5)?)
}

impl Ratios {
    fn new(mut sorted: Vec<(f64, GemmShape)>) -> Option<Self> {
        sorted.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
        (!sorted.is_empty()).then_some(Self { sorted })
    }

    /// Number of shapes, at least one.
    #[must_use]
    pub fn shapes(&self) -> usize {
        self.sorted.len()
    }

    /// The geometric mean.
    #[must_use]
    pub fn mean(&self) -> f64 {
        let logarithms: f64 = self.sorted.iter().map(|(ratio, _)| ratio.ln()).sum();
        (logarithms / self.sorted.len() as f64).exp()
    }

    /// The least ratio, and its shape.
    #[must_use]
    pub fn least(&self) -> (f64, GemmShape) {
        self.sorted[0]
    }

    /// The ratio that this share of shapes does not pass.
    #[must_use]
    pub fn quantile(&self, share: f64) -> f64 {
        let ratios: Vec<f64> = self.sorted.iter().map(|(ratio, _)| *ratio).collect();
        quantile(&ratios, share).unwrap_or(f64::NAN)
    }

    /// Shapes with a ratio below `limit`, the least first.
    pub fn below(&self, limit: f64) -> impl Iterator<Item = (f64, GemmShape)> {
        self.sorted.iter().copied().take_while(move |(ratio, _)| *ratio < limit)
    }
}

/// The value below which this share of `sorted` lies, between two of them where need be.
pub(super) fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let place = share.clamp(0.0, 1.0) * last as f64;
    let (below, part) = (place.floor() as usize, place.fract());
    let above = sorted[(below + 1).min(last)];
    Some(sorted[below] * (1.0 - part) + above * part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(peer: &str, m: u32, samples: &[f64]) -> Row {
        let mut row = Row::timed(GemmShape::new(m, 16, 100, 1), peer, String::new());
        row.samples_ns = samples.to_vec();
        if samples.is_empty() {
            row.status = "failed".to_owned();
        }
        row
    }

    #[test]
    fn quantiles_lie_between_their_neighbours() {
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(quantile(&[3.0], 0.9), Some(3.0));
        assert_eq!(quantile(&[1.0, 2.0, 4.0], 0.5), Some(2.0));
        assert_eq!(quantile(&[1.0, 2.0], 0.5), Some(1.5));
        assert_eq!(quantile(&[1.0, 2.0, 4.0], 1.0), Some(4.0));
    }

    #[test]
    fn ratios_are_of_rounds_and_of_shapes_that_both_have() {
        let rows = vec![
            row("ours", 1, &[10.0, 90.0, 11.0]),
            row("peer", 1, &[20.0, 180.0, 1.0]),
            row("ours", 100, &[8.0]),
            row("peer", 100, &[4.0]),
            row("ours", 50, &[5.0]),
            row("peer", 50, &[]),
            row("ours", 60, &[5.0]),
        ];
        let record = Record { rows, ..Record::default() };
        let summary = Summary::new(&record);
        let all = summary.ratios("ours", "peer", Class::Layers).unwrap();
        assert_eq!(all.shapes(), 2);
        // 2 and 1/2.
        assert!((all.mean() - 1.0).abs() < 1e-12);
        assert_eq!(all.least(), (0.5, GemmShape::new(100, 16, 100, 1)));
        assert_eq!(all.quantile(0.5), 1.25);
        assert_eq!(all.below(1.0).count(), 1);
        let gemv = summary.ratios("ours", "peer", Class::Gemv).unwrap();
        assert_eq!((gemv.shapes(), gemv.least().0), (1, 2.0));
        assert_eq!(summary.ratios("ours", "peer", Class::Big), None);
        assert_eq!(summary.ratios("ours", "other", Class::Layers), None);
        assert_eq!(summary.failures("peer").count(), 1);
        assert!(summary.has("peer") && !summary.has("other"));
        assert_eq!(summary.spread("other"), None);
        assert_eq!(summary.spread("ours"), Some(0.0));
        let only = summary.ratios("ours", "ours", Class::Layers).unwrap();
        assert_eq!((only.shapes(), only.mean()), (4, 1.0));
    }
}
