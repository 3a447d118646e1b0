//! What is trained on: the data set, or what `--without` leaves of it, within a `--budget`.

use anyhow::bail;
use trainer::damage::Rest;
use trainer::dataset::Dataset;
use trainer::prune::{Budget, Budgeted};
use trainer::split::Split;
use trainer::train::Method;

use super::budget::{self, Binaries};
use super::clock::Clock;
use super::without::{self, Without};
use super::{Args, steps};
use crate::output::Output;

/// A data set and what of it may be used.
pub(super) struct Material {
    whole: Dataset,
    /// Columns of `whole` to do without, and what is left then.
    without: Vec<usize>,
    rest: Option<Dataset>,
    /// What a list of [`Self::dataset`] may take.
    pub(super) budget: Option<Budget>,
    /// What a list of `whole` may take, where something is left out.
    budget_of_whole: Option<Budget>,
}

impl Material {
    /// What the flags leave of the `whole` data set; tells what is odd about it.
    ///
    /// # Errors
    /// An unknown configuration, nothing left, or a budget that cannot be kept.
    pub(super) fn of(
        whole: Dataset,
        args: &Args,
        method: &Method<'_>,
        out: &Output,
    ) -> anyhow::Result<Self> {
        let column = |name: &String| without::column(&whole, name);
        let without: Vec<usize> = args.without.iter().map(column).collect::<Result<_, _>>()?;
        let rest = (!without.is_empty()).then(|| without::rest(&whole, &without)).transpose()?;
        let dataset = rest.as_ref().unwrap_or(&whole);
        without::warn_of_lost(&whole, dataset, out);
        let budget = |dataset| args.budget.map(|bytes| budget::of(dataset, bytes, method, out));
        let (budget, budget_of_whole) =
            (budget(dataset).transpose()?, rest.as_ref().and_then(|_| budget(&whole)).transpose()?);
        Ok(Self { whole, without, rest, budget, budget_of_whole })
    }

    /// What is trained on.
    pub(super) fn dataset(&self) -> &Dataset {
        self.rest.as_ref().unwrap_or(&self.whole)
    }

    /// What the binaries of a list take, if that is limited.
    pub(super) fn binaries(&self, kernels: &[usize]) -> Option<Binaries> {
        self.budget.as_ref().map(|budget| Binaries::of(budget, self.dataset(), kernels))
    }

    /// Tell what other budgets would give, if there is one.
    pub(super) fn tell_curve(&self, method: &Method<'_>, clock: &mut Clock, out: &Output) {
        if let Some(budget) = &self.budget {
            budget::tell_curve(self.dataset(), budget, method, out);
            clock.lap("trying other budgets");
        }
    }

    /// What is lost by doing without the configurations called `names`, if there are any;
    /// `method` is that of the rest.
    ///
    /// # Errors
    /// The learner fails.
    pub(super) fn damage(
        &self,
        names: &[String],
        splits: &[Split],
        method: &Method<'_>,
        clock: &mut Clock,
        out: &mut Output,
    ) -> anyhow::Result<Option<Without>> {
        let Some(dataset) = &self.rest else { return Ok(None) };
        let within = self.budget_of_whole.as_ref().map(Budgeted::new);
        let of_whole = limited(*method, within.as_ref());
        let rest = Rest { dataset, method };
        let damage = steps::damage(&self.whole, splits, &of_whole, &self.without, &rest, out)?;
        clock.lap("measuring the damage");
        Ok(Some(Without::of(names, damage)))
    }
}

/// The method with a pruner that keeps to a budget, if there is one.
pub(super) fn limited<'a>(method: Method<'a>, within: Option<&'a Budgeted<'a>>) -> Method<'a> {
    match within {
        Some(pruner) => Method { pruner, ..method },
        None => method,
    }
}

/// The device's name, from the data set or the user.
pub(super) fn device(
    dataset: &Dataset,
    named: Option<&str>,
    out: &Output,
) -> anyhow::Result<String> {
    match (dataset.header.device.as_str(), named.map(str::trim)) {
        ("", Some("")) => bail!("`--device` is empty"),
        ("", Some(named)) => Ok(named.to_owned()),
        ("", None) => {
            out.note("the data set does not name its device; `--device NAME` does");
            Ok("unknown".to_owned())
        }
        (said, Some(named)) if said != named => {
            bail!("the data set was measured on `{said}`, not on `{named}`")
        }
        (said, _) => Ok(said.to_owned()),
    }
}
