//! A panel's areas: which kernel a grid of shapes gets.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::Range;

/// Cells an octave.
const CELLS: u32 = 4;
/// How many cells wide an area is that has room for its number, the half of it.
const ROOM: usize = 3;

/// Kernels by cell, the largest m in the first row.
pub(super) struct Grid {
    width: usize,
    height: usize,
    kernels: Vec<u8>,
}

impl Grid {
    pub(super) fn of(rows: Range, columns: Range, choose: impl Fn(u32, u32) -> u8) -> Self {
        let cells = |range: Range| (range.octaves() * CELLS) as usize;
        let (width, height) = (cells(columns), cells(rows));
        let mut kernels = Vec::with_capacity(width * height);
        for y in 0..height {
            for x in 0..width {
                let m = middle(rows, height - 1 - y);
                kernels.push(choose(m, middle(columns, x)));
            }
        }
        Self { width, height, kernels }
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    pub(super) fn height(&self) -> usize {
        self.height
    }

    /// The path of each kernel's cells, by id.
    pub(super) fn areas(&self) -> BTreeMap<u8, String> {
        let mut areas: BTreeMap<u8, String> = BTreeMap::new();
        for (y, row) in self.kernels.chunks(self.width).enumerate() {
            let mut x = 0;
            for run in row.chunk_by(|one, next| one == next) {
                let path = areas.entry(run[0]).or_default();
                let _ = write!(path, "M{x} {y}h{}v1h-{}z", run.len(), run.len());
                x += run.len();
            }
        }
        areas
    }

    /// Where to write the number of each connected area that has room for it: in its widest place.
    pub(super) fn labels(&self) -> Vec<(u8, f64, f64)> {
        let depths: Vec<usize> = (0..self.kernels.len()).map(|cell| self.depth(cell)).collect();
        let mut seen = vec![false; self.kernels.len()];
        let mut labels = Vec::new();
        for start in 0..self.kernels.len() {
            let area = self.flood(start, &mut seen);
            // Of several the one nearest to the middle of them all, so that it looks meant.
            let deepest = area.iter().map(|cell| depths[*cell]).max().unwrap_or(0);
            let places: Vec<usize> =
                area.into_iter().filter(|cell| depths[*cell] == deepest).collect();
            let count = places.len().max(1);
            let x = places.iter().map(|cell| cell % self.width).sum::<usize>() / count;
            let y = places.iter().map(|cell| cell / self.width).sum::<usize>() / count;
            let distance =
                |cell: &&usize| (*cell % self.width).abs_diff(x) + (*cell / self.width).abs_diff(y);
            if let Some(cell) = places.iter().min_by_key(distance).filter(|_| deepest >= ROOM) {
                let (x, y) = (cell % self.width, cell / self.width);
                labels.push((self.kernels[*cell], x as f64 + 0.5, y as f64 + 0.5));
            }
        }
        labels
    }

    /// The cells connected with `start` that have its kernel; none if they were seen.
    fn flood(&self, start: usize, seen: &mut [bool]) -> Vec<usize> {
        let mut area = Vec::new();
        let mut pending = vec![start];
        while let Some(cell) = pending.pop() {
            if seen[cell] || self.kernels[cell] != self.kernels[start] {
                continue;
            }
            seen[cell] = true;
            area.push(cell);
            let (x, y) = (cell % self.width, cell / self.width);
            pending.extend((x > 0).then(|| cell - 1));
            pending.extend((x + 1 < self.width).then(|| cell + 1));
            pending.extend((y > 0).then(|| cell - self.width));
            pending.extend((y + 1 < self.height).then(|| cell + self.width));
        }
        area
    }

    /// How many rings of its own kernel are around the cell, itself counted.
    fn depth(&self, cell: usize) -> usize {
        let (x, y) = (cell % self.width, cell / self.width);
        let is_same = |x: Option<usize>, y: Option<usize>| match (x, y) {
            (Some(x), Some(y)) if x < self.width && y < self.height => {
                self.kernels[y * self.width + x] == self.kernels[cell]
            }
            _ => false,
        };
        let ring = |distance: &usize| {
            let side = 0..=2 * distance;
            side.into_iter().all(|along| {
                let (left, top) = (x.checked_sub(*distance), y.checked_sub(*distance));
                let (right, bottom) = (x + distance, y + distance);
                let at = |start: usize| (start + along).checked_sub(*distance);
                is_same(left, at(y))
                    && is_same(Some(right), at(y))
                    && is_same(at(x), top)
                    && is_same(at(x), Some(bottom))
            })
        };
        1 + (1..).take_while(ring).count()
    }
}

/// A value in the middle of a cell.
fn middle(range: Range, cell: usize) -> u32 {
    let octaves = f64::from(range.first) + (cell as f64 + 0.5) / f64::from(CELLS);
    // Rounded down, it stays within its octave.
    octaves.exp2() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two octaves each way; kernel 2 where n is large.
    fn grid() -> Grid {
        let range = Range { first: 0, last: 4 };
        Grid::of(range, range, |_, n| if n < 4 { 1 } else { 2 })
    }

    #[test]
    fn areas_cover_every_cell_once() {
        let grid = grid();
        assert_eq!((grid.width(), grid.height()), (16, 16));
        let areas = grid.areas();
        assert_eq!(areas.keys().copied().collect::<Vec<_>>(), [1, 2]);
        assert_eq!(areas[&1].matches("h8v1h-8z").count(), 16);
        assert_eq!(areas[&2].matches("h8v1h-8z").count(), 16);
    }

    #[test]
    fn a_number_stands_in_the_middle_of_its_area() {
        let labels = grid().labels();
        assert_eq!(labels.len(), 2);
        for (id, x, y) in labels {
            let middle = if id == 1 { 4.0 } else { 12.0 };
            assert!((x - middle).abs() <= 1.0 && (y - 8.0).abs() <= 1.0, "{id} {x} {y}");
        }
    }

    #[test]
    fn rows_are_m_and_the_largest_is_the_first() {
        let range = Range { first: 0, last: 4 };
        let grid = Grid::of(range, range, |m, _| if m < 4 { 1 } else { 2 });
        assert!(grid.areas()[&2].starts_with("M0 0h16"));
    }
}
