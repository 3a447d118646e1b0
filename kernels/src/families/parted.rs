//! What families that split k share: how many parts, their scratch memory, and the launches that add
//! them up (`cl/reduce.cl`).

use crate::{CheckedProblem, Launch, Launches};

/// Fewest steps along k that are worth a part.
const SHORTEST_PART: u64 = 64;

/// Elements of C and parts that a work-group of the reduction takes at once.
pub(super) const REDUCTION: [u64; 3] = [32, 8, 1];

/// Bytes of local memory that the reduction takes.
pub(super) const REDUCTION_MEMORY: u64 = 32 * 8 * 4;

/// Bytes of local memory that a kernel may take; more is refused by some drivers even of large GPUs.
pub(super) const LOCAL_MEMORY: u64 = 48 * 1024;

/// Parts into which k is split so that there are about `target` work-groups where each matrix of C has
/// `groups`. All parts but the last are the same multiple of `steps` long, and none is empty.
pub(super) fn parts(problem: &CheckedProblem, groups: u64, target: u64, steps: u64) -> u32 {
    let batch = u64::from(problem.problem().shape.batch);
    let groups = groups.saturating_mul(batch).max(1);
    let k = u64::from(problem.effective_k());
    let parts = (target / groups).min(k / SHORTEST_PART).max(1);
    let each = k.div_ceil(parts).next_multiple_of(steps).max(1);
    // No more than `parts`, which is no more than k.
    k.div_ceil(each).max(1) as u32
}

/// Bytes that the sums of all parts take; none if there is one part.
pub(super) fn scratch(problem: &CheckedProblem, parts: u32) -> u64 {
    if parts == 1 {
        return 0;
    }
    let shape = problem.problem().shape;
    let layers = u64::from(shape.batch).saturating_mul(u64::from(parts));
    (u64::from(shape.m) * u64::from(shape.n)).saturating_mul(layers).saturating_mul(4)
}

/// `launches`, and function 1 on all elements of C if there are several parts to add.
pub(super) fn then_reduce(launches: Launches, problem: &CheckedProblem, parts: u32) -> Launches {
    if parts == 1 {
        return launches;
    }
    let shape = problem.problem().shape;
    let elements = u64::from(shape.m) * u64::from(shape.n);
    launches.then(Launch::cover([elements, REDUCTION[1], u64::from(shape.batch)], REDUCTION).of(1))
}

#[cfg(test)]
mod tests {
    use selector_core::{GemmShape, ProblemClass};

    use super::*;
    use crate::Problem;

    fn checked(shape: GemmShape) -> CheckedProblem {
        let problem = Problem::packed(ProblemClass::F32_NN, shape);
        let [a, b, c] = problem.buffer_lengths().unwrap();
        problem.check(a, b, c).unwrap()
    }

    #[test]
    fn k_is_split_until_there_are_work_groups_enough_and_no_part_is_empty() {
        for (k, groups, batch, target, steps) in [
            (12544, 4, 1, 264, 16),
            (4096, 1, 3, 1056, 128),
            (65, 1, 1, 264, 8),
            (1000, 2, 1, 7, 32),
        ] {
            let problem = checked(GemmShape::new(64, k, 64, batch));
            let parts = parts(&problem, groups, target, steps);
            let each = u64::from((k - 1) / parts) / steps * steps + steps;
            assert!(u64::from(parts) * groups * u64::from(batch) <= target);
            assert!(u64::from(parts - 1) * each < u64::from(k), "{parts} parts of {each}");
            assert!(u64::from(parts) * each >= u64::from(k), "{parts} parts of {each}");
        }
    }

    #[test]
    fn a_full_device_or_a_short_k_is_not_split_and_takes_no_scratch() {
        for (shape, groups) in [
            (GemmShape::new(64, 4096, 64, 300), 1),
            (GemmShape::new(64, 4096, 64, 1), 264),
            (GemmShape::new(64, 100, 64, 1), 1),
            (GemmShape::new(64, 0, 64, 1), 1),
        ] {
            let problem = checked(shape);
            assert_eq!(parts(&problem, groups, 264, 16), 1, "{shape}");
            assert_eq!(scratch(&problem, 1), 0);
        }
        let problem = checked(GemmShape::new(64, 4096, 32, 2));
        assert_eq!(scratch(&problem, 5), 64 * 32 * 2 * 5 * 4);
        // No device holds this; the answer is large, not wrong.
        let huge = checked(GemmShape::new(65_535, 1, 65_535, u32::MAX));
        assert_eq!(scratch(&huge, u32::MAX), u64::MAX);
    }
}
