//! Pieces of work by what they cost, so that progress tells how much time is left.

use std::collections::BTreeMap;

use super::{Context, Part};

/// A piece of work that is done once, whichever parts need it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Step {
    /// Two steps of the same name are one.
    pub(super) name: String,
    /// Roughly, in milliseconds of one core of a desktop for some 200 shapes of 600
    /// configurations.
    pub(super) cost: u64,
}

impl Step {
    pub(super) fn new(name: impl Into<String>, cost: u64) -> Self {
        Self { name: name.into(), cost }
    }
}

/// What `parts` cost together: the sum of what [`Context::watched`] is told once all are measured.
#[must_use]
pub fn cost(parts: &[&dyn Part], context: &Context<'_>) -> u64 {
    let steps = parts.iter().flat_map(|part| part.steps(context));
    let steps: BTreeMap<String, u64> = steps.map(|step| (step.name, step.cost)).collect();
    steps.values().sum()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::split;
    use crate::study::ALL;
    use crate::study::trees::tests::two_families;

    #[test]
    fn all_announced_costs_are_told_and_no_other() {
        let dataset = two_families();
        let splits = split::seeded(&dataset.shapes(), 0);
        let some = |names: &[&str]| -> Vec<&'static dyn Part> {
            ALL.iter().copied().filter(|part| names.contains(&part.name())).collect()
        };
        // Alone a part does what another has done already where both are asked for.
        let sets = [some(&["orderings"]), some(&["components", "pruning", "trees"]), ALL.to_vec()];
        for parts in sets {
            let told = AtomicU64::new(0);
            let tell = |cost| {
                told.fetch_add(cost, Ordering::Relaxed);
            };
            let context = Context::new(&dataset, &splits[..1], 0).watched(tell);
            let expected = cost(&parts, &context);
            for part in &parts {
                part.measure(&context).unwrap();
            }
            assert!(expected > 0);
            assert_eq!(told.load(Ordering::Relaxed), expected);
        }
    }
}
