//! What a run tells: a line a shape while it goes, and tables in the end.

use std::fmt::Write;
use std::time::Duration;

use benches::peers::{ALL, ALL_OF_OURS, Class, OURS, Progress, Record, Row, Summary};

/// What is told of a shape that was measured.
pub(crate) fn line(progress: &Progress<'_>) -> String {
    let Progress { done, total, left, rows } = progress;
    let mut text = format!("{done}/{total}");
    let ours = rows.iter().find(|row| row.peer == OURS);
    let time = ours.and_then(Row::median);
    if let (Some(ours), Some(time)) = (ours, time) {
        let _ = write!(text, " {}: {} by {}", ours.shape, duration(time), ours.configuration);
    }
    for row in rows.iter().filter(|row| row.peer != OURS) {
        let ratio = ours.and_then(|ours| ours.ratio_of(row));
        let _ = match (ratio, row.failure()) {
            (Some(ratio), _) => write!(text, ", {} {ratio:.2}", row.peer),
            (None, why) => write!(text, ", {} {}", row.peer, why.unwrap_or("not timed")),
        };
    }
    let left = left.as_secs();
    let _ = match left {
        0 => Ok(()),
        1..120 => write!(text, "; about {left} s left"),
        _ => write!(text, "; about {} min left", left.div_ceil(60)),
    };
    text
}

/// Tables of a record.
pub(crate) fn summary(record: &Record) -> String {
    let mut text = String::new();
    for (key, value) in &record.header.0 {
        let _ = writeln!(text, "{key}: {value}");
    }
    let summary = Summary::new(record);
    for (place, ours) in ALL_OF_OURS.into_iter().enumerate() {
        for theirs in ALL.iter().map(|entry| entry.name) {
            let is_other = !ALL_OF_OURS[..=place].contains(&theirs);
            if is_other && summary.has(ours) && summary.has(theirs) {
                table(&mut text, &summary, ours, theirs);
            }
        }
    }
    for entry in ALL {
        if let Some(spread) = summary.spread(entry.name) {
            let percent = 100.0 * spread;
            let _ = writeln!(text, "spread of {}: {percent:.1} % of the median", entry.name);
        }
        for row in summary.failures(entry.name) {
            let _ = writeln!(text, "{} on {}: {}", entry.name, row.shape, row.status);
        }
    }
    text
}

fn table(text: &mut String, summary: &Summary<'_>, ours: &str, theirs: &str) {
    let _ = writeln!(text, "\n{ours}, times as fast as {theirs}:");
    let _ = writeln!(
        text,
        "  {:<16} {:>6} {:>8} {:>8} {:>17} {:>8}",
        "class", "shapes", "mean", "median", "tenth..ninth", "least"
    );
    for class in Class::ALL {
        let Some(ratios) = summary.ratios(ours, theirs, class) else { continue };
        let [low, median, high] = [0.1, 0.5, 0.9].map(|share| ratios.quantile(share));
        let (least, shape) = ratios.least();
        let _ = writeln!(
            text,
            "  {:<16} {:>6} {:>8.3} {median:>8.3} {low:>8.3}..{high:<7.3} {least:>8.3}  {shape}",
            class.to_string(),
            ratios.shapes(),
            ratios.mean(),
        );
    }
}

fn duration(nanoseconds: f64) -> String {
    format!("{:.1?}", Duration::from_nanos(nanoseconds as u64))
}

#[cfg(test)]
mod tests {
    use benches::peers::Header;
    use selector_core::GemmShape;

    use super::*;

    fn row(peer: &str, status: &str, samples_ns: &[f64]) -> Row {
        Row {
            shape: GemmShape::new(4, 5, 6, 1),
            peer: peer.to_owned(),
            configuration: "tile".to_owned(),
            status: status.to_owned(),
            calls: 1,
            device_ns: None,
            samples_ns: samples_ns.to_vec(),
        }
    }

    #[test]
    fn ratios_and_failures_are_told() {
        let rows = vec![
            row("ours", "ok", &[2000.0]),
            row("clblast", "ok", &[5000.0]),
            row("cublas", "failed: no", &[]),
        ];
        let left = Duration::from_secs(125);
        let told = line(&Progress { done: 1, total: 9, left, rows: &rows });
        let expected =
            "1/9 4x5x6: 2.0µs by tile, clblast 2.50, cublas failed: no; about 3 min left";
        assert_eq!(told, expected);
        let mut header = Header::default();
        header.push("device", "one");
        let told = summary(&Record { header, rows });
        assert!(told.starts_with("device: one\n"), "{told}");
        assert!(told.contains("ours, times as fast as clblast"), "{told}");
        assert!(told.contains("cublas on 4x5x6: failed: no"), "{told}");
        assert!(!told.contains("ours-best"), "{told}");
    }
}
