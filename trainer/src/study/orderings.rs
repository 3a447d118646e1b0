//! All methods by what they reach with the same number of kernels, so that the orderings on two
//! data sets can be compared.

use super::places::{self, Placed};
use super::{
    Cell, Context, Drawing, Part, STANDING_KERNELS, Standing, Step, StudyError, Table, Unit,
    method, splits,
};
use crate::normalise::Normalisation;
use crate::score::SplitScore;
use crate::train::Method;
use crate::{learn, prune};

/// Every pruner with every learner that may ship, and what other parts measure.
pub(super) struct Orderings;

/// The table's id.
pub(super) const ID: &str = "orderings";
/// Its column of places.
pub(super) const PLACE: usize = 0;
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

    fn steps(&self, context: &Context<'_>) -> Vec<Step> {
        super::ALL.iter().flat_map(|part| part.standing_steps(context)).collect()
    }

    fn measure(&self, context: &Context<'_>) -> Result<Vec<Table>, StudyError> {
        let mut standings = Vec::new();
        if !context.sides.is_empty() {
            for part in super::ALL {
                standings.extend(part.standings(context)?);
            }
        }
        let placed = places::of(&standings, &method::name());
        let title = format!("All methods with {STANDING_KERNELS} kernels, the best first");
        let table = Table::new(ID, title, "")
            .column("place", Unit::Count)
            .column("method", Unit::Text)
            .column("share", Unit::Percent)
            .column("lowest of seeds", Unit::Percent)
            .column("highest of seeds", Unit::Percent)
            .column("seeds", Unit::Count)
            .column("mark", Unit::Text)
            .drawn(Drawing::Bars { rank: PLACE, label: METHOD, value: SHARE })
            .with_rows(placed.iter().map(row).collect())
            .note(format!(
                "shares are means over the splits and, where a method has random choices, over {} seeds from the study's own on; \
                 the lowest and the highest are of these seeds, each a mean over the splits",
                context.standing_seeds
            ))
            .note(
                "methods share a place where each falls short of the best of them by less than the standard error of the difference, paired over splits \
                 and seeds; that is a mild bar, which equal methods pass about one time in three; within a place the default comes first, then names in order",
            );
        Ok(vec![splits::note(table, context)])
    }

    fn standing_steps(&self, context: &Context<'_>) -> Vec<Step> {
        let of_method = |method: Method<'static>| {
            let of_seed = move |seed| context.score_steps(&Method { seed, ..method });
            seeds(context, &method).into_iter().flat_map(of_seed)
        };
        methods().into_iter().flat_map(of_method).collect()
    }

    fn standings(&self, context: &Context<'_>) -> Result<Vec<Standing>, StudyError> {
        let standing = |method: Method<'_>| {
            let shares = |seed| -> Result<Vec<f64>, StudyError> {
                let scores = context.scores(&Method { seed, ..method })?;
                Ok(scores.iter().map(|one: &SplitScore| one.share).collect())
            };
            let shares = seeds(context, &method).into_iter().map(shares);
            let shares = shares.collect::<Result<_, _>>()?;
            let method = format!("{} + {}", method.pruner.name(), method.learner.name());
            Ok(Standing { method, shares })
        };
        methods().into_iter().map(standing).collect()
    }
}

fn row(one: &Placed) -> Vec<Cell> {
    let mark = if one.method == method::name() { "default" } else { "" };
    vec![
        Cell::from(one.place),
        Cell::from(one.method.clone()),
        Cell::Share(one.share),
        Cell::Share(one.lowest),
        Cell::Share(one.highest),
        Cell::from(one.seeds),
        Cell::from(mark),
    ]
}

fn seeds(context: &Context<'_>, method: &Method<'_>) -> Vec<u64> {
    context.seeds(method.pruner.draws() || method.learner.draws()).collect()
}

/// With a seed that is to be replaced.
fn methods() -> Vec<Method<'static>> {
    let shipped = || learn::ALL.iter().filter(|learner| learner.repeatable());
    let pairs =
        prune::ALL.iter().flat_map(|pruner| shipped().map(move |learner| (pruner, learner)));
    let method = |(pruner, learner): (&&'static _, &&'static _)| Method {
        pruner: *pruner,
        learner: *learner,
        kernels: STANDING_KERNELS,
        normalisation: Normalisation::default(),
        seed: 0,
    };
    pairs.map(method).collect()
}
