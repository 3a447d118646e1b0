//! One figure a line, and whether all were reached.

use std::fmt;
use std::io::{self, Write};

/// What a figure must be.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    /// At least this.
    AtLeast(f64),
    /// At most this.
    AtMost(f64),
    /// Exactly this.
    Exactly(f64),
    /// Told without a target.
    None,
    /// At most this far from another value.
    Within(f64, f64),
}

impl Target {
    fn reached(self, value: f64) -> bool {
        match self {
            Self::AtLeast(least) => value >= least,
            Self::AtMost(most) => value <= most,
            Self::Exactly(exact) => value == exact,
            Self::None => true,
            // Decimal distances are not exact in binary.
            Self::Within(distance, other) => (value - other).abs() <= distance + 1e-9,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtLeast(least) => write!(f, ">={least}"),
            Self::AtMost(most) => write!(f, "<={most}"),
            Self::Exactly(exact) => write!(f, "={exact}"),
            Self::None => f.write_str("-"),
            Self::Within(distance, other) => write!(f, "{other}±{distance}"),
        }
    }
}

/// A line that is printed.
#[derive(Clone, Debug)]
pub(crate) enum Line {
    /// A figure by name.
    Figure(String, f64, Target),
    /// A figure, and what must be known of how it was measured.
    Remarked(String, f64, Target, String),
    /// A figure that cannot be measured here, and why.
    Skipped(String, String),
}

impl Line {
    /// A figure.
    pub(crate) fn figure(name: String, value: f64, target: Target) -> Self {
        Self::Figure(name, value, target)
    }

    /// A figure that cannot be measured here, and why.
    pub(crate) fn skipped(name: String, why: &str) -> Self {
        Self::Skipped(name, why.to_owned())
    }

    /// The same, with a remark if it is a figure.
    pub(crate) fn remarked(self, remark: &str) -> Self {
        match self {
            Self::Figure(name, value, target) => {
                Self::Remarked(name, value, target, remark.to_owned())
            }
            other => other,
        }
    }

    fn reached(&self) -> bool {
        match self {
            Self::Figure(_, value, target) | Self::Remarked(_, value, target, _) => {
                target.reached(*value)
            }
            Self::Skipped(..) => true,
        }
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Figure(name, value, target) | Self::Remarked(name, value, target, _) => {
                let verdict = if self.reached() { "ok" } else { "short" };
                let shown = format!("{value:.6}");
                let shown = shown.trim_end_matches('0').trim_end_matches('.');
                write!(f, "{name} {shown} {target} {verdict}")?;
                if let Self::Remarked(.., remark) = self {
                    write!(f, " ({remark})")
                } else {
                    Ok(())
                }
            }
            Self::Skipped(name, why) => write!(f, "{name} skipped: {why}"),
        }
    }
}

/// The figures of a part.
#[derive(Debug, Default)]
pub(crate) struct Sheet {
    short: usize,
}

impl Sheet {
    /// Print a figure.
    pub(crate) fn figure(&mut self, name: &str, value: f64, target: Target) {
        self.tell(&Line::figure(name.to_owned(), value, target));
    }

    /// Print a line.
    pub(crate) fn tell(&mut self, line: &Line) {
        self.short += usize::from(!line.reached());
        self.line(&line.to_string());
    }

    /// Print a measured value that has no target, with its tenth and ninetieth percentile.
    pub(crate) fn spread(&mut self, name: &str, median: f64, [low, high]: [f64; 2]) {
        self.line(&format!("{name} {median:.1} - ok ({low:.1}..{high:.1})"));
    }

    /// Print that a figure cannot be measured here, and why.
    pub(crate) fn skipped(&mut self, name: &str, why: &str) {
        self.tell(&Line::skipped(name.to_owned(), why));
    }

    /// Say something that is no figure.
    pub(crate) fn note(&self, message: &str) {
        // A closed stderr must not stop the work.
        let _ = writeln!(io::stderr().lock(), "{message}");
    }

    /// Whether no figure was short of its target.
    pub(crate) fn all_reached(&self) -> bool {
        self.short == 0
    }

    fn line(&mut self, line: &str) {
        if writeln!(io::stdout().lock(), "{line}").is_err() {
            // A figure that nobody saw was not shown.
            self.short += 1;
        }
    }
}
