//! What a run says of a device, a figure a line.

use benches::peers::{
    ALL, ALL_OF_OURS, BUSY, CLBLAST_TUNED, CUBLAS, CUT_SHORT, Class, OTHERS, OURS, OURS_BEST,
    Ratios, Record, SPACE_BEST, SQUARE, Summary, most_at_work,
};
use selector_core::GemmShape;

use super::device::Device;
use crate::figure::{Line, Target};

/// Where cuBLAS is this many times as fast, a run must give the reason.
const SLOW: f64 = 0.4;

/// The figures of `record`, of which `text` tells more.
pub(super) fn of(device: &Device, record: &Record, text: &str) -> Vec<Line> {
    let run = Run { device, record, summary: Summary::new(record) };
    let mut lines = vec![run.shapes()];
    lines.extend(run.others());
    for entry in ALL.iter().filter(|entry| !ALL_OF_OURS.contains(&entry.name)) {
        let first = lines.len();
        run.beside(entry.name, &mut lines);
        if let Some(cut) = run.cut_short(entry.name, text) {
            let remarked = lines.drain(first..).map(|line| line.remarked(&cut)).collect::<Vec<_>>();
            lines.extend(remarked);
        }
    }
    for ours in [OURS_BEST, SPACE_BEST] {
        if let Some(ratios) = run.summary.ratios(OURS, ours, Class::Layers) {
            // How much of what could be had the tree's choice reaches.
            let name = format!("{}.{}.share_of_it", run.name(), word(ours));
            lines.push(Line::figure(name, ratios.mean(), Target::None));
        }
    }
    run.slow(text, &mut lines);
    run.square(&mut lines);
    run.steadiness(&mut lines);
    lines
}

struct Run<'a> {
    device: &'a Device,
    record: &'a Record,
    summary: Summary<'a>,
}

impl Run<'_> {
    fn name(&self) -> String {
        format!("kernels.{}", self.device.name)
    }

    fn shapes(&self) -> Line {
        let shapes = self.summary.ratios(OURS, OURS, Class::Layers).map_or(0, |all| all.shapes());
        let name = format!("{}.shapes", self.name());
        Line::figure(name, shapes as f64, Target::AtLeast(self.device.shapes))
    }

    /// Everything of ours beside one peer; what is missing of it is skipped by name.
    fn beside(&self, theirs: &str, lines: &mut Vec<Line>) {
        let peer = format!("{}.{}", self.name(), word(theirs));
        let goals = self.device.goals.iter().filter(|goal| goal.theirs == theirs);
        if !self.summary.has(theirs) {
            let why = self.absent(theirs);
            let names: Vec<String> =
                goals.map(|goal| ratio(&peer, goal.ours, goal.class)).collect();
            let names = if names.is_empty() { vec![peer] } else { names };
            lines.extend(names.into_iter().map(|name| Line::skipped(name, &why)));
            return;
        }
        for goal in goals.filter(|goal| !self.summary.has(goal.ours)) {
            let name = ratio(&peer, goal.ours, goal.class);
            lines.push(Line::skipped(name, &self.absent(goal.ours)));
        }
        for ours in ALL_OF_OURS {
            for class in Class::ALL {
                let Some(ratios) = self.summary.ratios(ours, theirs, class) else { continue };
                let target = self.target(ours, theirs, class);
                lines.push(Line::figure(ratio(&peer, ours, class), ratios.mean(), target));
                if (ours, class) == (OURS, Class::Layers) {
                    spread(&peer, &ratios, lines);
                }
            }
        }
        let failed = self.summary.failures(theirs).count();
        if failed > 0 {
            lines.push(Line::figure(format!("{peer}.failed"), failed as f64, Target::None));
        }
    }

    /// Cores that others used when it was measured, at the busiest time, where the record tells.
    fn others(&self) -> Option<Line> {
        let cores = most_at_work(self.record.header.get(OTHERS)?)?;
        let line = Line::figure(format!("{}.others_at_work", self.name()), cores, Target::None);
        Some(if cores > BUSY { line.remarked("the machine was busy") } else { line })
    }

    /// Which of the tuners of CLBlast were stopped: as its version says, or else the run's text.
    fn cut_short(&self, peer: &str, text: &str) -> Option<String> {
        if peer != CLBLAST_TUNED {
            return None;
        }
        let mut told = [self.record.header.get(peer).unwrap_or_default(), text].into_iter();
        told.find_map(|told| {
            let (_, tuners) = told.split_once(&format!("{CUT_SHORT}: "))?;
            Some(format!("parameters {CUT_SHORT}: {}", tuners.lines().next()?.trim()))
        })
    }

    /// Why a peer has no rows.
    fn absent(&self, peer: &str) -> String {
        let told = self.record.header.get(peer).unwrap_or("not asked for");
        told.strip_prefix("skipped: ").unwrap_or(told).to_owned()
    }

    fn target(&self, ours: &str, theirs: &str, class: Class) -> Target {
        let mut goals = self.device.goals.iter();
        let goal = goals.find(|one| (one.ours, one.theirs, one.class) == (ours, theirs, class));
        goal.map_or(Target::None, |goal| Target::AtLeast(goal.least))
    }

    /// Shapes on which cuBLAS is far ahead, and for how many of them no reason is told.
    fn slow(&self, text: &str, lines: &mut Vec<Line>) {
        let Some(ratios) = self.summary.ratios(OURS, CUBLAS, Class::Layers) else { return };
        let name = format!("{}.cublas.below_{SLOW}", self.name());
        let slow: Vec<(f64, GemmShape)> = ratios.below(SLOW).collect();
        lines.push(Line::figure(name.clone(), slow.len() as f64, Target::None));
        for (ratio, shape) in &slow {
            lines.push(Line::figure(format!("{name}.{shape}"), *ratio, Target::None));
        }
        let without = slow.iter().filter(|(_, shape)| !names(text, *shape)).count();
        let name = format!("{name}.without_reason");
        lines.push(Line::figure(name, without as f64, Target::Exactly(0.0)));
    }

    fn square(&self, lines: &mut Vec<Line>) {
        for peer in [OURS, CUBLAS] {
            if let Some(time) = self.summary.row(peer, SQUARE).and_then(|row| row.median()) {
                let name =
                    format!("{}.{}.square_4096.teraflop_per_second", self.name(), word(peer));
                lines.push(Line::figure(name, SQUARE.flop() / time / 1e3, Target::None));
            }
        }
    }

    /// How far apart a peer's own samples lie.
    fn steadiness(&self, lines: &mut Vec<Line>) {
        for entry in ALL {
            if let Some(spread) = self.summary.spread(entry.name) {
                let name = format!("{}.{}.spread_percent", self.name(), word(entry.name));
                lines.push(Line::figure(name, 100.0 * spread, Target::None));
            }
        }
    }
}

/// The figure's name for the mean ratio of a class: of all layers and of the bundle as it ships
/// without saying so.
fn ratio(peer: &str, ours: &str, class: Class) -> String {
    let ours = if ours == OURS { String::new() } else { format!(".{}", word(ours)) };
    let class = if class == Class::Layers { String::new() } else { format!(".{class}") };
    format!("{peer}{ours}{class}.ratio")
}

fn spread(peer: &str, ratios: &Ratios, lines: &mut Vec<Line>) {
    let (least, shape) = ratios.least();
    lines.push(Line::figure(format!("{peer}.least.{shape}"), least, Target::None));
    for (what, share) in [("tenth", 0.1), ("median", 0.5), ("ninth", 0.9)] {
        lines.push(Line::figure(format!("{peer}.{what}"), ratios.quantile(share), Target::None));
    }
}

/// A peer's name as a word of a figure's name.
fn word(peer: &str) -> String {
    peer.replace('-', "_")
}

/// Whether a text names a shape: its sizes with signs of multiplication or the letter x.
fn names(text: &str, shape: GemmShape) -> bool {
    let text = text.replace('×', "x");
    let GemmShape { m, k, n, batch } = shape;
    let whole = if batch == 1 { format!("{m}x{k}x{n}") } else { format!("{m}x{k}x{n}x{batch}") };
    let is_inside = |letter: Option<char>| {
        letter.is_some_and(|letter| letter.is_ascii_digit() || letter == 'x')
    };
    text.match_indices(&whole).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + whole.len()..]);
        !is_inside(before.chars().next_back()) && !is_inside(after.chars().next())
    })
}

#[cfg(test)]
mod tests {
    use benches::peers::{CLBLAST, FULLY_CONNECTED, Row};

    use super::super::device::DEVICES;
    use super::*;

    fn row(shape: GemmShape, peer: &str, nanoseconds: f64) -> Row {
        Row {
            shape,
            peer: peer.to_owned(),
            configuration: String::new(),
            status: "ok".to_owned(),
            calls: 1,
            device_ns: None,
            samples_ns: vec![nanoseconds; 3],
        }
    }

    fn told(device: &str, record: &Record, text: &str) -> Vec<String> {
        let device = DEVICES.iter().find(|one| one.name == device).unwrap();
        of(device, record, text).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn every_goal_has_a_line_whether_its_peer_is_there_or_not() {
        let layer = GemmShape::new(64, 1000, 65, 1);
        let mut record = Record::default();
        record.header.push(CUBLAS, "skipped: no such library");
        for shape in [layer, FULLY_CONNECTED[0]] {
            record.rows.extend([row(shape, OURS, 10.0), row(shape, CLBLAST, 50.0)]);
        }
        let lines = told("h200", &record, "");
        for expected in [
            "kernels.h200.shapes 1 >=299 short",
            "kernels.h200.clblast.ratio 5 >=2 ok",
            "kernels.h200.clblast.deep_k.ratio 5 >=2 ok",
            "kernels.h200.clblast.fully_connected.ratio 5 >=2 ok",
            "kernels.h200.cublas.ratio skipped: no such library",
            "kernels.h200.cublas.square_4096.ratio skipped: no such library",
            "kernels.h200.cublas.space_best.ratio skipped: no such library",
            "kernels.h200.clblast_tuned skipped: not asked for",
        ] {
            assert!(lines.iter().any(|line| line == expected), "{expected} of {lines:#?}");
        }
    }

    #[test]
    fn what_was_cut_short_or_disturbed_is_told_behind_its_figures() {
        let layer = GemmShape::new(64, 1000, 65, 1);
        let mut record = Record::default();
        for (peer, time) in [(OURS, 10.0), (CLBLAST, 50.0), (CLBLAST_TUNED, 20.0)] {
            record.rows.push(row(layer, peer, time));
        }
        let ratio = "kernels.h200.clblast_tuned.ratio 2 - ok";
        let lines = told("h200", &record, "- parameters cut short: xgemm\n- more");
        let expected = format!("{ratio} (parameters cut short: xgemm)");
        assert!(lines.contains(&expected), "{lines:#?}");
        assert!(!lines.iter().any(|line| line.contains("others_at_work")), "{lines:#?}");
        record.header.push(CLBLAST_TUNED, "CLBlast, cut short: pad xgemm");
        record.header.push(OTHERS, "0.01 cores at noon; 0.75 cores at one");
        let lines = told("h200", &record, "");
        for expected in [
            format!("{ratio} (parameters cut short: pad xgemm)"),
            "kernels.h200.others_at_work 0.75 - ok (the machine was busy)".to_owned(),
            "kernels.h200.clblast.ratio 5 >=2 ok".to_owned(),
        ] {
            assert!(lines.contains(&expected), "{expected} of {lines:#?}");
        }
        let mut idle = Record::default();
        idle.header.push(OTHERS, "0.01 cores at noon");
        let lines = told("h200", &idle, "");
        assert!(lines.contains(&"kernels.h200.others_at_work 0.01 - ok".to_owned()), "{lines:#?}");
    }

    #[test]
    fn shapes_that_are_far_behind_need_a_reason() {
        let slow = [GemmShape::new(256, 784, 128, 1), GemmShape::new(25, 784, 128, 3)];
        let mut record = Record::default();
        for shape in slow {
            record.rows.extend([row(shape, OURS, 10.0), row(shape, CUBLAS, 3.0)]);
            record.rows.push(row(shape, SPACE_BEST, 5.0));
        }
        let lines = told("h200", &record, "It is slow on 256×784×128 since k is long.");
        for expected in [
            "kernels.h200.cublas.below_0.4 2 - ok",
            "kernels.h200.cublas.below_0.4.without_reason 1 =0 short",
            "kernels.h200.cublas.space_best.ratio 0.6 >=0.78 short",
            "kernels.h200.space_best.share_of_it 0.5 - ok",
            "kernels.h200.ours.spread_percent 0 - ok",
        ] {
            assert!(lines.iter().any(|line| line == expected), "{expected} of {lines:#?}");
        }
    }

    #[test]
    fn a_text_names_a_shape_by_all_of_its_sizes_and_no_more() {
        let shape = GemmShape::new(25, 784, 12, 1);
        assert!(names("25x784x12 and", shape) && names("(25×784×12)", shape));
        for other in ["125x784x12", "25x784x128", "25x784x12x3", "3x25x784x12", "25, 784, 12"] {
            assert!(!names(other, shape), "{other}");
        }
        assert!(names("25×784×12×3", GemmShape::new(25, 784, 12, 3)));
    }
}
