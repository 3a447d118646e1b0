//! `--budget`: a kernel list whose binaries fit a number of bytes.

use std::fmt;
use std::str::FromStr;

use anyhow::bail;
use selector_core::ProblemClass;
use trainer::dataset::Dataset;
use trainer::performance::Performance;
use trainer::prune::{Budget, BudgetError, Budgeted, Pruner as _, Request};
use trainer::score::geometric_mean;
use trainer::train::{Method, measured_as};

use crate::failure::hinted;
use crate::output::{Output, counted};

/// The only pruner that keeps a budget.
const PRUNER: &str = "smoothed";

/// A number of bytes as a user writes it: `4096`, `256KiB`, `1MiB`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Bytes(pub(super) u64);

impl FromStr for Bytes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (number, unit) = text.split_at(end);
        let unit = match unit.trim_start() {
            "" | "B" => 1,
            "KiB" => 1 << 10,
            "MiB" => 1 << 20,
            _ => 0,
        };
        if number.is_empty() || unit == 0 {
            return Err("not a whole number of bytes, KiB or MiB, such as 65536 or 256KiB".into());
        }
        let bytes = number.parse().ok().and_then(|number: u64| number.checked_mul(unit));
        bytes.map(Self).ok_or_else(|| "more bytes than there can be".to_owned())
    }
}

/// The budget of `bytes`, if the data set and the method can keep it.
///
/// # Errors
/// Another pruner, no sizes, or too few bytes for any kernel.
pub(super) fn of(
    dataset: &Dataset,
    bytes: Bytes,
    method: &Method<'_>,
    out: &Output,
) -> anyhow::Result<Budget> {
    if method.pruner.name() != PRUNER {
        bail!(hinted(
            anyhow::anyhow!("pruner `{}` knows no budget", method.pruner.name()),
            format_args!("`--pruner {PRUNER}` does, or give a count by `--kernels`")
        ));
    }
    let budget = Budget::new(dataset, bytes.0).map_err(refused)?;
    let unknown = budget.unknown();
    if unknown > 0 {
        out.warn(format_args!(
            "left out, since the data set does not say what their binaries take: {}",
            counted(unknown, "configuration")
        ));
    }
    let conflicting = dataset.conflicting_bytes();
    if let Some(first) = conflicting.first() {
        out.warn(format_args!(
            "{} with several sizes of one binary, such as `{first}`: the largest counts",
            counted(conflicting.len(), "configuration")
        ));
    }
    Ok(budget)
}

fn refused(error: BudgetError) -> anyhow::Error {
    match error {
        BudgetError::NoSizes => hinted(
            error,
            "`gemmtree collect` with this version measures them; without them, `--kernels` limits \
             the list",
        ),
        _ => hinted(error, "raise `--budget`"),
    }
}

/// Tell what other budgets would give: the share of optimal with the best kernel of each list.
pub(super) fn tell_curve(dataset: &Dataset, budget: &Budget, method: &Method<'_>, out: &Output) {
    if !out.is_verbose() {
        return;
    }
    let all: Vec<usize> = (0..dataset.tasks().len()).collect();
    let performance = Performance::of(dataset, &all);
    let Method { kernels: count, normalisation, seed, .. } = *method;
    out.detail("budget in bytes, kernels, programs, and share of optimal with the best of them");
    for quarters in [1, 2, 4, 8, 16] {
        let other = budget.with_bytes((budget.bytes() / 4).saturating_mul(quarters));
        let pruned = Budgeted { budget: &other }
            .prune(&performance, &Request { count, normalisation, seed });
        let kernels = &pruned.kernels;
        if kernels.is_empty() {
            out.detail(format_args!("{:>12}  nothing fits", other.bytes()));
            continue;
        }
        let share = geometric_mean(all.iter().map(|row| performance.best_share(*row, kernels)));
        let (bytes, programs) = (other.bytes(), other.programs(kernels));
        out.detail(format_args!(
            "{bytes:>12} {:>4} {programs:>4} {:>9.2} %",
            kernels.len(),
            100.0 * share
        ));
    }
}

/// What the binaries of a list take, for people and as JSON.
#[derive(serde::Serialize)]
pub(super) struct Binaries {
    budget: u64,
    used: u64,
    programs: usize,
    universal: Option<u64>,
    /// Classes that the model serves and whose programs are not counted: none was measured.
    uncounted_classes: Vec<String>,
}

impl Binaries {
    pub(super) fn of(budget: &Budget, dataset: &Dataset, kernels: &[usize]) -> Self {
        let measured = dataset.classes();
        let only_served = |class: &ProblemClass| {
            !measured.contains(class) && measured_as(*class, &measured).is_some()
        };
        let uncounted = ProblemClass::all().filter(only_served);
        Self {
            uncounted_classes: uncounted.map(|class| class.to_string()).collect(),
            budget: budget.bytes(),
            used: budget.used(kernels),
            programs: budget.programs(kernels),
            universal: budget.universal(),
        }
    }
}

impl fmt::Display for Binaries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { budget, used, programs, universal, uncounted_classes } = self;
        write!(f, "{used} of {budget} bytes counted: {}", counted(*programs, "program"))?;
        if let Some(bytes) = universal {
            write!(f, ", {bytes} bytes of the universal kernel's")?;
        }
        let classes = (!uncounted_classes.is_empty())
            .then(|| format!("classes served but not measured ({})", uncounted_classes.join(", ")));
        let unknown =
            universal.is_none().then(|| "the universal kernel, whose size is unknown".to_owned());
        let not: Vec<String> = classes.into_iter().chain(unknown).collect();
        if not.is_empty() {
            return Ok(());
        }
        write!(f, "\n         not counted, and on top: {}", not.join("; "))
    }
}

/// Most kernels of a list that is limited by its bytes, unless the user says. More cost the tree,
/// which must tell them apart, as much as they give.
pub(super) const MOST_KERNELS: u8 = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_whole_numbers_with_or_without_a_unit() {
        for (text, bytes) in
            [("0", 0), ("4096", 4096), ("12B", 12), ("256KiB", 262_144), ("3 MiB", 3_145_728)]
        {
            assert_eq!(text.parse(), Ok(Bytes(bytes)), "{text}");
        }
        for text in ["", "KiB", "1.5MiB", "256KB", "256 kib", "-1", "1e6", "1KiB "] {
            let said = text.parse::<Bytes>().unwrap_err();
            assert!(said.contains("such as 65536 or 256KiB"), "{text}: {said}");
        }
        for text in ["99999999999999999999", "17592186044416MiB"] {
            assert_eq!(text.parse::<Bytes>(), Err("more bytes than there can be".to_owned()));
        }
    }
}
