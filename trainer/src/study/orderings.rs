//! All methods by what they reach with the same number of kernels, so that the orderings on two
//! data sets can be compared.

use super::{
    Cell, Context, Drawing, Part, STANDING_KERNELS, Standing, StudyError, Table, Unit, splits,
};
use crate::normalise::Normalisation;
use crate::score::SplitScore;
use crate::train::Method;
use crate::{learn, prune};

/// Every pruner with every learner that may ship, and what other parts measure.
pub(super) struct Orderings;

/// The table's id.
pub(super) const ID: &str = "orderings";
/// Its column of names.
pub(super) const METHOD: usize = 1;
/// Its column of shares.
pub(super) const SHARE: usize = 2;

impl Part for Orderings {
    fn name(&self) -> &'static str {
        ID
    }

    fn about(&self) -> &'static str {
        "all methods, ordered by what they reach with the same number of kernels"
    }

    fn steps(&self, context: &Context<'_>) -> u64 {
        (methods(context).len() * context.sides.len()) as u64
    }

    fn measure(&self, context: &Context<'_>) -> Result<Vec<Table>, StudyError> {
        let mut standings = Vec::new();
        if !context.sides.is_empty() {
            for part in super::ALL {
                standings.extend(part.standings(context)?);
            }
        }
        standings.sort_by(|one, other| {
            other.share.total_cmp(&one.share).then_with(|| one.method.cmp(&other.method))
        });
        let row = |(index, one): (usize, &Standing)| {
            vec![Cell::from(index + 1), Cell::from(one.method.clone()), Cell::Share(one.share)]
        };
        let title = format!("All methods with {STANDING_KERNELS} kernels, the best first");
        let table = Table::new(ID, title, "")
            .column("place", Unit::Count)
            .column("method", Unit::Text)
            .column("share", Unit::Percent)
            .drawn(Drawing::Bars { label: METHOD, value: SHARE })
            .with_rows(standings.iter().enumerate().map(row).collect());
        Ok(vec![splits::note(table, context)])
    }

    fn standings(&self, context: &Context<'_>) -> Result<Vec<Standing>, StudyError> {
        let standing = |method: Method<'_>| {
            let scores = context.scores(&method)?;
            let shares: Vec<f64> = scores.iter().map(|one: &SplitScore| one.share).collect();
            let method = format!("{} + {}", method.pruner.name(), method.learner.name());
            Ok(Standing { method, share: splits::mean(&shares) })
        };
        methods(context).into_iter().map(standing).collect()
    }
}

fn methods(context: &Context<'_>) -> Vec<Method<'static>> {
    let shipped = || learn::ALL.iter().filter(|learner| learner.repeatable());
    let pairs =
        prune::ALL.iter().flat_map(|pruner| shipped().map(move |learner| (pruner, learner)));
    let method = |(pruner, learner): (&&'static _, &&'static _)| Method {
        pruner: *pruner,
        learner: *learner,
        kernels: STANDING_KERNELS,
        normalisation: Normalisation::default(),
        seed: context.seed,
    };
    pairs.map(method).collect()
}
