//! The space of shapes, coloured by the kernel that the tree chooses: m across rows, n along
//! columns, for the k and batch that the data have most of.

mod grid;

use std::collections::BTreeMap;

use selector_core::{GemmShape, Model, ProblemClass};

use super::numbers::{Numbers, TaskNumbers};
use super::text::{counted, times_best};
use grid::Grid;

/// Most panels for a class.
const PANELS: usize = 6;
/// The slowdown above which a shape's dot is full.
const LOSES: f64 = 1.1;

/// One k and batch, and the measured shapes near them.
struct Panel<'a> {
    batch: u32,
    k: u32,
    tasks: Vec<&'a TaskNumbers>,
}

/// The figure for the class.
pub(super) fn figure(model: &Model<'_>, numbers: &Numbers, class: ProblemClass) -> String {
    let tasks: Vec<_> = numbers.tasks.iter().filter(|task| task.class == class).collect();
    let rows = Range::of(tasks.iter().map(|task| task.shape.m));
    let columns = Range::of(tasks.iter().map(|task| task.shape.n));
    let panels = panels(&tasks);
    let shown: usize = panels.iter().map(|panel| panel.tasks.len()).sum();
    let drawn: String =
        panels.iter().map(|panel| draw(model, class, panel, rows, columns)).collect();
    format!(
        "<div class=\"maps\">\n{drawn}</div>\n<p class=\"small\">Each panel is one k and batch, with m up and \
         n to the right, both on logarithmic scales (Ki = 1024). Colour and number: the kernel that the tree \
         chooses. Dots: {shown} of {} measured, in the panel whose batch they have and whose k is within \
         their octave; full where the kernel takes more than {LOSES}× the best time.</p>\n",
        counted(tasks.len(), "shape")
    )
}

/// The octaves of k, by batch, that most shapes are in.
fn panels<'a>(tasks: &[&'a TaskNumbers]) -> Vec<Panel<'a>> {
    let mut groups: BTreeMap<(u32, u32), Vec<&TaskNumbers>> = BTreeMap::new();
    for task in tasks {
        groups.entry((task.shape.batch, task.shape.k.max(1).ilog2())).or_default().push(task);
    }
    let mut panels: Vec<Panel<'_>> = groups
        .into_iter()
        .map(|((batch, _), tasks)| Panel { batch, k: most_frequent(&tasks), tasks })
        .collect();
    // Stable: of groups of one size, the first come first.
    panels.sort_by_key(|panel| std::cmp::Reverse(panel.tasks.len()));
    panels.truncate(PANELS);
    panels.sort_by_key(|panel| (panel.batch, panel.k));
    panels
}

/// The k that most of the tasks have, the least of several.
fn most_frequent(tasks: &[&TaskNumbers]) -> u32 {
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    for task in tasks {
        *counts.entry(task.shape.k).or_default() += 1;
    }
    let most = counts.into_iter().max_by_key(|(k, count)| (*count, std::cmp::Reverse(*k)));
    most.map_or(1, |(k, _)| k)
}

/// Whole octaves, from the first up to the last.
#[derive(Clone, Copy)]
struct Range {
    first: u32,
    last: u32,
}

impl Range {
    /// The octaves of `values`, three at least.
    fn of(values: impl Iterator<Item = u32>) -> Self {
        let (mut first, mut last) = (u32::MAX, 0);
        for value in values.map(|value| value.max(1)) {
            first = first.min(value.ilog2());
            last = last.max(value.ilog2() + 1);
        }
        let first = first.min(last);
        Self { first, last: last.max(first + 3).min(32) }
    }

    fn octaves(self) -> u32 {
        self.last.saturating_sub(self.first).max(1)
    }

    /// Octaves between ticks that are named, so that there is room for the names.
    fn every(self, most: u32) -> u32 {
        self.octaves().div_ceil(most).max(1)
    }
}

/// Pixels of a panel: the plot, and what is left of and below it.
const WIDTH: f64 = 300.0;
const HEIGHT: f64 = 230.0;
const LEFT: f64 = 46.0;
const BELOW: f64 = 38.0;
const ABOVE: f64 = 6.0;
const RIGHT: f64 = 14.0;

fn draw(
    model: &Model<'_>,
    class: ProblemClass,
    panel: &Panel<'_>,
    rows: Range,
    columns: Range,
) -> String {
    let (k, batch) = (panel.k, panel.batch);
    let choose = |m: u32, n: u32| model.select(class, GemmShape::new(m, k, n, batch)).first().0;
    let grid = Grid::of(rows, columns, choose);
    let (width, height) = (LEFT + WIDTH + RIGHT, ABOVE + HEIGHT + BELOW);
    let scale = (WIDTH / grid.width() as f64, HEIGHT / grid.height() as f64);
    let areas: String = grid
        .areas()
        .into_iter()
        .map(|(id, path)| format!("<path class=\"k{id}\" d=\"{path}\"/>"))
        .collect();
    let label = |(id, x, y): (u8, f64, f64)| {
        let (x, y) = (LEFT + x * scale.0, ABOVE + y * scale.1 + 5.0);
        format!("<text class=\"area i{id}\" x=\"{x:.1}\" y=\"{y:.1}\">{id}</text>")
    };
    let labels: String = grid.labels().into_iter().map(label).collect();
    let dots: String = panel.tasks.iter().map(|task| dot(task, rows, columns)).collect();
    let batches = if batch == 1 { String::new() } else { format!(", batch {batch}") };
    let name = format!("k = {k}{batches}");
    let kernels: Vec<_> = grid.areas().keys().map(u8::to_string).collect();
    format!(
        "<figure class=\"panel\"><figcaption>{name}</figcaption><svg viewBox=\"0 0 {width} {height}\" \
         role=\"img\" aria-label=\"Map for {name}: kernels {} over m and n, {} measured\">\n\
         <g class=\"areas\" transform=\"translate({LEFT} {ABOVE}) scale({:.4} {:.4})\">{areas}</g>\n{}{dots}\
         {labels}</svg></figure>\n",
        kernels.join(", "),
        counted(panel.tasks.len(), "shape"),
        scale.0,
        scale.1,
        axes(rows, columns)
    )
}

/// Where a value stands between the ends of a range, 0…1.
fn place(value: u32, range: Range) -> f64 {
    let octaves = f64::from(value.max(1)).log2() - f64::from(range.first);
    (octaves / f64::from(range.octaves())).clamp(0.0, 1.0)
}

fn dot(task: &TaskNumbers, rows: Range, columns: Range) -> String {
    let x = LEFT + place(task.shape.n, columns) * WIDTH;
    let y = ABOVE + (1.0 - place(task.shape.m, rows)) * HEIGHT;
    let full = if task.slowdown.is_none_or(|one| one > LOSES) { " full" } else { "" };
    let runs = task.runs.unwrap_or(task.chosen);
    format!(
        "<circle class=\"dot{full}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.2\"><title>{}: kernel {runs}, {}</title></circle>",
        task.shape,
        times_best(task.slowdown)
    )
}

fn axes(rows: Range, columns: Range) -> String {
    let mut drawn = String::new();
    let bottom = ABOVE + HEIGHT;
    for octave in (columns.first..=columns.last).step_by(columns.every(5) as usize) {
        let x = LEFT + f64::from(octave - columns.first) / f64::from(columns.octaves()) * WIDTH;
        drawn += &format!(
            "<path class=\"tick\" d=\"M{x:.1} {bottom}v4\"/><text class=\"tick across\" x=\"{x:.1}\" \
             y=\"{}\">{}</text>",
            bottom + 17.0,
            size(octave)
        );
    }
    for octave in (rows.first..=rows.last).step_by(rows.every(6) as usize) {
        let up = f64::from(octave - rows.first) / f64::from(rows.octaves());
        let y = ABOVE + (1.0 - up) * HEIGHT;
        drawn += &format!(
            "<path class=\"tick\" d=\"M{} {y:.1}h-4\"/><text class=\"tick up\" x=\"{}\" y=\"{:.1}\">{}</text>",
            LEFT,
            LEFT - 7.0,
            y + 4.0,
            size(octave)
        );
    }
    drawn
        + &format!(
            "<text class=\"axis\" x=\"{:.1}\" y=\"{:.1}\">n</text><text class=\"axis\" x=\"9\" \
             y=\"{:.1}\">m</text>\n",
            LEFT + WIDTH / 2.0,
            bottom + 33.0,
            ABOVE + HEIGHT / 2.0
        )
}

/// The power of two, short.
fn size(octave: u32) -> String {
    match octave {
        ..=9 => (1_u64 << octave).to_string(),
        10..=19 => format!("{}Ki", 1_u64 << (octave - 10)),
        20..=29 => format!("{}Mi", 1_u64 << (octave - 20)),
        _ => format!("{}Gi", 1_u64 << (octave - 30).min(33)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_holds_its_values_and_is_never_empty() {
        for values in [vec![], vec![0], vec![1], vec![7, 3000], vec![u32::MAX]] {
            let range = Range::of(values.iter().copied());
            assert!(range.first < range.last && range.last <= 32, "{values:?}");
            assert!(values.iter().all(|value| (0.0..=1.0).contains(&place(*value, range))));
        }
        let range = Range::of([7, 3000].into_iter());
        assert_eq!((range.first, range.last), (2, 12));
    }

    #[test]
    fn sizes_are_short() {
        assert_eq!([0, 9, 10, 19, 20, 32].map(size), ["1", "512", "1Ki", "512Ki", "1Mi", "4Gi"]);
    }
}
