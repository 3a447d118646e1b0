//! The one kernel of a bundle that is best for a network as a whole, found by trying all.

use std::time::Duration;

use selector_core::{KernelId, KernelMask};

use super::plan::Distinct;
use super::{NetworkError, Peer, Stage, race};

/// Least duration of a sample.
const SAMPLE: Duration = Duration::from_millis(2);
/// Kernels whose totals are within this ratio of the least are timed again.
const NEAR: f64 = 1.1;
/// How often.
const AGAIN: usize = 3;

/// The kernel of the bundle's list with the least total over the multiplications of one inference. Who is
/// beyond the least so far is given up; those near the least are timed again, and their medians count. The
/// universal kernel only if no other runs them all. `progress` is told which is tried.
///
/// # Errors
/// The device fails.
pub fn one_best(
    stage: &mut Stage<'_>,
    mut progress: impl FnMut(usize, usize, &str),
) -> Result<KernelId, NetworkError> {
    let distinct = stage.plan().distinct();
    let order = candidates(stage, &distinct)?;
    let mut totals: Vec<(KernelId, Vec<f64>)> = Vec::new();
    let mut least = f64::INFINITY;
    for (number, id) in order.iter().enumerate() {
        let name = stage.configuration(*id).map(ToString::to_string).unwrap_or_default();
        progress(number, order.len(), &name);
        // Who cannot run one of them, or lacks memory for it, is out.
        if let Ok(Some(total)) = total(stage, *id, &distinct, NEAR * least) {
            least = least.min(total);
            totals.push((*id, vec![total]));
        }
    }
    progress(order.len(), order.len(), "");
    totals.retain(|(_, totals)| totals.iter().all(|total| *total <= NEAR * least));
    if totals.len() > 1 {
        for _ in 0..AGAIN {
            for (id, known) in &mut totals {
                known.extend(total(stage, *id, &distinct, f64::INFINITY)?);
            }
        }
    }
    // A device that is lost runs none, and says so at the next call.
    stage.finish()?;
    Ok(best(totals).unwrap_or(KernelId::UNIVERSAL))
}

/// The least median; on a tie the first.
fn best(totals: Vec<(KernelId, Vec<f64>)>) -> Option<KernelId> {
    let medians = totals.into_iter().map(|(id, totals)| (super::report::median(totals), id));
    medians.min_by(|(one, _), (other, _)| one.total_cmp(other)).map(|(_, id)| id)
}

/// Every kernel that can run, those first that the tree chooses, by the work that it gives them: a good one
/// at first lets the others be given up early.
fn candidates(stage: &mut Stage<'_>, distinct: &[Distinct]) -> Result<Vec<KernelId>, NetworkError> {
    let Some(first) = distinct.first() else { return Ok(Vec::new()) };
    let usable = stage.runtime().usable(first.problem.class).unwrap_or(KernelMask::NONE);
    let count = u8::try_from(stage.runtime().configurations().len()).unwrap_or(u8::MAX);
    let ids = (1..count).map(KernelId).filter(|id| usable.contains(*id));
    let mut work: Vec<(f64, KernelId)> = ids.map(|id| (0.0, id)).collect();
    stage.reserve()?;
    for one in distinct {
        let chosen = stage.multiply(&Peer::Ours, one.place)?;
        let flop = one.problem.shape.flop() * f64::from(one.times);
        work.iter_mut().filter(|(_, id)| Some(*id) == chosen).for_each(|(work, _)| *work += flop);
    }
    stage.finish()?;
    work.sort_by(|(one, id), (other, other_id)| other.total_cmp(one).then(id.cmp(other_id)));
    Ok(work.into_iter().map(|(_, id)| id).collect())
}

/// Nanoseconds of all multiplications by one kernel; `None` if they are more than `most`.
fn total(
    stage: &mut Stage<'_>,
    id: KernelId,
    distinct: &[Distinct],
    most: f64,
) -> Result<Option<f64>, NetworkError> {
    stage.reserve_for(id)?;
    let mut total = 0.0;
    for one in distinct {
        let each = race::multiplication(stage, &Peer::OursOne(id), one.place, SAMPLE)?;
        total += each * f64::from(one.times);
        if total > most {
            return Ok(None);
        }
    }
    Ok(Some(total))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_median_is_the_best_and_on_a_tie_the_first() {
        let totals = |id, totals: [f64; 3]| (KernelId(id), totals.to_vec());
        let three = [totals(4, [9.0, 2.0, 3.0]), totals(2, [1.0, 4.0, 9.0])];
        assert_eq!(best(three.to_vec()), Some(KernelId(4)));
        let tied = [totals(5, [3.0; 3]), totals(1, [3.0; 3])];
        assert_eq!(best(tied.to_vec()), Some(KernelId(5)));
        assert_eq!(best(Vec::new()), None);
    }
}
