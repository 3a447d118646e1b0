//! Where a command says that its time went, with `--verbose`: lines such as `0.35 s  reading`.

use anyhow::Context;

/// A step of a command.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Lap {
    /// What was done.
    pub step: String,
    /// How long it took.
    pub seconds: f64,
}

impl Lap {
    /// The step that a line tells, if it tells one.
    pub(crate) fn read(line: &str) -> Option<Self> {
        let (seconds, step) = line.trim().split_once(" s ")?;
        Some(Self { step: step.trim().to_owned(), seconds: seconds.parse().ok()? })
    }
}

/// How long `step` took.
///
/// # Errors
/// It was not told.
pub(crate) fn seconds(laps: &[Lap], step: &str) -> anyhow::Result<f64> {
    let lap = laps.iter().find(|lap| lap.step == step);
    lap.map(|lap| lap.seconds).with_context(|| format!("no time was told for `{step}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_has_a_time_and_a_name_and_other_lines_are_no_steps() {
        let lap = Lap::read("    0.35 s  choosing kernels");
        let expected = Lap { step: "choosing kernels".to_owned(), seconds: 0.35 };
        assert_eq!(lap, Some(expected.clone()));
        for other in
            ["nothing written", "about 60 s left", "studying: 258 of 1816, about 60 s left"]
        {
            assert_eq!(Lap::read(other), None);
        }
        assert!((seconds(&[expected], "choosing kernels").unwrap() - 0.35).abs() < 1e-12);
        assert!(seconds(&[], "choosing kernels").is_err());
    }
}
