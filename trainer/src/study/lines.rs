//! Lines over whole numbers, as SVG. A line's number stands at its end, so colour tells nothing
//! alone.

use std::fmt::Write;

use super::Unit;
use super::grid::Grid;
use crate::report::text::{Text, digits};

const WIDTH: f64 = 350.0;
const HEIGHT: f64 = 240.0;
const LEFT: f64 = 42.0;
const RIGHT: f64 = WIDTH - 22.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = HEIGHT - 34.0;
/// Numbers at the ends of lines stand at least so far apart.
const APART: f64 = 11.0;
/// Points are drawn where a line has no more.
const FEW_POINTS: usize = 20;

/// A chart for each grid, with one legend for all.
pub(super) fn html(title: &str, grids: &[Grid]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in grids.iter().flat_map(Grid::points) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let charts: String = grids.iter().map(|grid| chart(title, grid, &names)).collect();
    let entry = |(index, name): (usize, &&str)| {
        let id = index + 1;
        format!("<li><span class=\"chip k{id} i{id}\">{id}</span>{}</li>", Text(name))
    };
    let legend: String = names.iter().enumerate().map(entry).collect();
    format!("<ul class=\"legend\">{legend}</ul>\n<div class=\"maps\">\n{charts}</div>\n")
}

/// How many colours the charts of `grids` need.
pub(super) fn colours(grids: &[Grid]) -> usize {
    grids.iter().map(|grid| grid.rows.len()).sum()
}

fn chart(title: &str, grid: &Grid, names: &[&str]) -> String {
    let lines: Vec<(usize, Vec<(f64, f64)>)> = grid
        .points()
        .filter_map(|(name, points)| Some((names.iter().position(|one| *one == name)? + 1, points)))
        .filter(|(_, points)| !points.is_empty())
        .collect();
    let all = || lines.iter().flat_map(|(_, points)| points);
    let across = Scale::whole(all().map(|point| point.0), LEFT, RIGHT);
    let up = Scale::round(all().map(|point| point.1), BOTTOM, TOP, grid.unit);
    let mut drawn = axes(&across, &up, grid);
    for (id, points) in &lines {
        drawn += &line(*id, names[id - 1], points, (&across, &up), grid);
    }
    let ends: Vec<(usize, f64)> =
        lines.iter().map(|(id, points)| (*id, up.place(points[points.len() - 1].1))).collect();
    for (id, y) in spread(ends) {
        let _ = write!(
            drawn,
            "<text class=\"end\" x=\"{:.1}\" y=\"{:.1}\">{id}</text>",
            RIGHT + 6.0,
            y + 4.0
        );
    }
    let caption = match &grid.panel[..] {
        "" => String::new(),
        panel => format!("<figcaption>{}</figcaption>\n", Text(panel)),
    };
    format!(
        "<figure class=\"panel\">{caption}<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}: {} lines \
         over {}\">\n{drawn}</svg></figure>\n",
        Text(title),
        lines.len(),
        Text(&grid.across)
    )
}

fn line(
    id: usize,
    name: &str,
    points: &[(f64, f64)],
    (across, up): (&Scale, &Scale),
    grid: &Grid,
) -> String {
    let mut path = String::new();
    for (index, (x, y)) in points.iter().enumerate() {
        let command = if index == 0 { 'M' } else { 'L' };
        let _ = write!(path, "{command}{:.1} {:.1}", across.place(*x), up.place(*y));
    }
    let few = points.len() <= FEW_POINTS;
    let (edge, class) = if few { ("edge", "line") } else { ("edge fine", "line fine") };
    let name = Text(name);
    let mut drawn = format!(
        "<path class=\"{edge}\" d=\"{path}\"/><path class=\"{class} s{id}\" d=\"{path}\"><title>{name}</title></path>"
    );
    if few {
        for (x, y) in points {
            let _ = write!(
                drawn,
                "<circle class=\"k{id}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"2.4\"><title>{name}, {x} {}: {}</title></circle>",
                across.place(*x),
                up.place(*y),
                Text(&grid.across),
                value(*y, grid.unit)
            );
        }
    }
    drawn + "\n"
}

fn value(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Percent => format!("{value:.1} %"),
        _ => digits(value),
    }
}

fn axes(across: &Scale, up: &Scale, grid: &Grid) -> String {
    let mut drawn = String::new();
    for tick in up.ticks() {
        let y = up.place(tick);
        let _ = write!(
            drawn,
            "<path class=\"rule\" d=\"M{LEFT} {y:.1}H{RIGHT}\"/><text class=\"tick up\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            LEFT - 5.0,
            y + 4.0,
            digits(tick)
        );
    }
    for tick in across.ticks() {
        let x = across.place(tick);
        let _ = write!(
            drawn,
            "<path class=\"tick\" d=\"M{x:.1} {BOTTOM}v4\"/><text class=\"tick across\" x=\"{x:.1}\" y=\"{}\">{}</text>",
            BOTTOM + 16.0,
            digits(tick)
        );
    }
    let up = match (&grid.value[..], grid.unit) {
        ("", Unit::Percent) => " · up: %".to_owned(),
        ("", _) => String::new(),
        (value, Unit::Percent) => format!(" · up: {} in %", Text(value)),
        (value, _) => format!(" · up: {}", Text(value)),
    };
    let (middle, across) = ((LEFT + RIGHT) / 2.0, Text(&grid.across));
    drawn
        + &format!(
            "<text class=\"tick across\" x=\"{middle:.1}\" y=\"{}\">{across}{up}</text>\n",
            HEIGHT - 4.0
        )
}

/// Ends of lines, moved apart where they would stand on each other.
fn spread(mut ends: Vec<(usize, f64)>) -> Vec<(usize, f64)> {
    ends.sort_by(|one, other| one.1.total_cmp(&other.1).then(one.0.cmp(&other.0)));
    let mut last = f64::NEG_INFINITY;
    for (_, y) in &mut ends {
        *y = y.max(last + APART);
        last = *y;
    }
    // Back up where the last ones were pushed out.
    let mut next = BOTTOM + APART;
    for (_, y) in ends.iter_mut().rev() {
        *y = y.min(next - APART);
        next = *y;
    }
    ends
}

/// Where values stand.
struct Scale {
    first: f64,
    last: f64,
    step: f64,
    from: f64,
    to: f64,
}

impl Scale {
    /// From the least to the largest of whole numbers.
    fn whole(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let (least, largest) = range(values);
        let largest = if largest > least { largest } else { least + 1.0 };
        let step = round_step((largest - least) / 7.0).max(1.0).ceil();
        Self { first: least, last: largest, step, from, to }
    }

    /// From a round number to a round number.
    fn round(values: impl Iterator<Item = f64>, from: f64, to: f64, unit: Unit) -> Self {
        let (least, largest) = range(values);
        let step = round_step((largest - least).max(1e-6) / 6.0);
        let (first, mut last) = ((least / step).floor() * step, (largest / step).ceil() * step);
        if unit == Unit::Percent && least <= 100.0 {
            last = last.min(100.0);
        }
        let last = if last > first { last } else { first + step };
        Self { first, last, step, from, to }
    }

    fn place(&self, value: f64) -> f64 {
        self.from + (value - self.first) / (self.last - self.first) * (self.to - self.from)
    }

    fn ticks(&self) -> impl Iterator<Item = f64> {
        let start = (self.first / self.step).ceil();
        let count = (self.last / self.step + 1e-9).floor() - start;
        (0..=count.max(0.0) as u32).map(move |index| (start + f64::from(index)) * self.step)
    }
}

fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (least, largest) = values
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(least, largest), one| {
            (least.min(one), largest.max(one))
        });
    if least <= largest { (least, largest) } else { (0.0, 1.0) }
}

/// 1, 2 or 5 times a power of ten, not below `step`.
fn round_step(step: f64) -> f64 {
    let power = 10.0_f64.powf(step.log10().floor());
    let factors = [1.0, 2.0, 5.0, 10.0];
    let factor = factors.into_iter().find(|factor| factor * power >= step * (1.0 - 1e-9));
    factor.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_are_round_and_hold_their_values() {
        let scale = Scale::round([76.3, 98.4].into_iter(), BOTTOM, TOP, Unit::Percent);
        assert_eq!((scale.first, scale.last, scale.step), (75.0, 100.0, 5.0));
        assert_eq!(scale.ticks().collect::<Vec<_>>(), [75.0, 80.0, 85.0, 90.0, 95.0, 100.0]);
        for values in [vec![], vec![5.0], vec![0.0, 0.0], vec![-3.0, 1e9]] {
            let scale = Scale::round(values.iter().copied(), BOTTOM, TOP, Unit::Number);
            assert!((1..12).contains(&scale.ticks().count()), "{values:?}");
            let within = |value: &f64| (TOP..=BOTTOM).contains(&scale.place(*value));
            assert!(values.iter().all(within), "{values:?}");
        }
        let counts = Scale::whole([4.0, 15.0].into_iter(), LEFT, RIGHT);
        assert_eq!(counts.ticks().collect::<Vec<_>>(), [4.0, 6.0, 8.0, 10.0, 12.0, 14.0]);
    }

    #[test]
    fn ends_stand_apart_and_in_the_chart() {
        let ends = spread((1..=9).map(|id| (id, BOTTOM - id as f64)).collect());
        let places: Vec<f64> = ends.iter().map(|end| end.1).collect();
        assert!(places.windows(2).all(|pair| pair[1] - pair[0] >= APART - 1e-9));
        assert!(places.iter().all(|y| (TOP..=BOTTOM).contains(y)), "{places:?}");
    }
}
