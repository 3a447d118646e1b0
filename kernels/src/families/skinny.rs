//! Family `skinny`: a C with few rows or few columns, `skinny:rowsSxL@GxK+T` or `skinny:colsSxL@GxK+T`.
//! A work-item computes S elements along the short side times L along the long one; G work-items
//! lie along the long side, K share a sum along k, and where there are fewer work-groups than T, k
//! is split among more of them.

use selector_core::ProblemClass;

use super::parted::{self, REDUCTION};
use super::{Family, class_options};
use crate::{CheckedProblem, Launch, Launches, Limits, Misfit, Program};

/// Which side of C is short, as text.
const SIDES: [&str; 2] = ["rows", "cols"];

/// Elements along the short side, and along the long side, that a work-item computes.
const SHORT: [u16; 3] = [1, 4, 8];
const LONG: [u16; 2] = [1, 4];

/// Work-items along the long side, and along k.
const GROUPS: [(u16, u16); 5] = [(64, 1), (256, 1), (32, 8), (8, 32), (2, 128)];

/// Work-groups that there should be; with 1 k is never split.
const TARGETS: [u16; 3] = [1, 264, 1056];

/// Parameters: 0 if rows are short, 1 if columns are; S, L, G, K and T.
pub(super) struct Skinny;

#[derive(Clone, Copy)]
struct Cut {
    rows_are_short: bool,
    short: u64,
    long: u64,
    group: u64,
    lanes: u64,
    target: u64,
}

fn cut(parameters: &[u16]) -> Cut {
    // `allows` was asked before.
    let [side, short, long, group, lanes, target] =
        parameters.try_into().unwrap_or([0, 1, 1, 1, 1, 1]);
    let [short, long, group, lanes, target] = [short, long, group, lanes, target].map(u64::from);
    Cut { rows_are_short: side == 0, short, long, group, lanes, target }
}

impl Cut {
    /// Whether neighbours along the long side lie side by side in memory, not neighbours along k.
    fn is_across(&self, class: ProblemClass) -> bool {
        if self.rows_are_short { !class.transposes.b() } else { class.transposes.a() }
    }

    /// Work-items of a work-group along dimensions 0, 1 and 2.
    fn local(&self, class: ProblemClass) -> [u64; 3] {
        if self.is_across(class) {
            [self.group, self.lanes, 1]
        } else {
            [self.lanes, self.group, 1]
        }
    }

    /// Work-groups along the long side and the short one.
    fn groups(&self, problem: &CheckedProblem) -> [u64; 2] {
        let shape = problem.problem().shape;
        let [m, n] = [shape.m, shape.n].map(u64::from);
        let (short, long) = if self.rows_are_short { (m, n) } else { (n, m) };
        [long.div_ceil(self.long * self.group), short.div_ceil(self.short)]
    }

    /// Steps along k that the lanes of a work-group take at once.
    fn steps(&self, class: ProblemClass) -> u64 {
        if self.is_across(class) { self.lanes } else { 4 * self.lanes }
    }

    fn parts(&self, problem: &CheckedProblem) -> u32 {
        let [long, short] = self.groups(problem);
        let groups = long.saturating_mul(short);
        parted::parts(problem, groups, self.target, self.steps(problem.problem().class))
    }

    /// Bytes of local memory.
    fn local_memory(&self) -> u64 {
        let lanes = if self.lanes == 1 { 0 } else { self.lanes };
        let adds = if self.target == 1 { 0 } else { parted::REDUCTION_MEMORY };
        adds.max(lanes * self.group * self.short * self.long * 4)
    }
}

impl Family for Skinny {
    fn name(&self) -> &'static str {
        "skinny"
    }

    fn source(&self) -> &'static str {
        concat!(
            include_str!("../../cl/elements.cl"),
            include_str!("../../cl/skinny.cl"),
            include_str!("../../cl/reduce.cl")
        )
    }

    fn expected(&self) -> &'static str {
        "rowsSxL@GxK+T or colsSxL@GxK+T with S 1, 4 or 8, L 1 or 4, GxK one of 64x1, 256x1, 32x8, \
         8x32, 2x128, and T 1, 264 or 1056"
    }

    fn parse(&self, text: &str) -> Option<Vec<u16>> {
        let side = SIDES.iter().position(|side| text.starts_with(side))?;
        let (item, rest) = text.get(SIDES[side].len()..)?.split_once('@')?;
        let (group, target) = rest.split_once('+')?;
        let (short, long) = item.split_once('x')?;
        let (group, lanes) = group.split_once('x')?;
        let numbers = [short, long, group, lanes, target].map(|number| number.parse().ok());
        let numbers = numbers.into_iter().collect::<Option<Vec<u16>>>()?;
        Some([vec![side as u16], numbers].concat())
    }

    fn write(&self, parameters: &[u16]) -> String {
        let Cut { rows_are_short, short, long, group, lanes, target } = cut(parameters);
        let side = SIDES[usize::from(!rows_are_short)];
        format!("{side}{short}x{long}@{group}x{lanes}+{target}")
    }

    fn allows(&self, parameters: &[u16]) -> bool {
        let &[side, short, long, group, lanes, target] = parameters else { return false };
        usize::from(side) < SIDES.len()
            && SHORT.contains(&short)
            && LONG.contains(&long)
            && GROUPS.contains(&(group, lanes))
            && TARGETS.contains(&target)
            && cut(parameters).local_memory() <= parted::LOCAL_MEMORY
    }

    fn space(&self) -> Vec<Vec<u16>> {
        let mut space = Vec::new();
        for side in 0..SIDES.len() as u16 {
            for short in SHORT {
                for long in LONG {
                    for (group, lanes) in GROUPS {
                        space.extend(
                            TARGETS.map(|target| vec![side, short, long, group, lanes, target]),
                        );
                    }
                }
            }
        }
        space.retain(|parameters| self.allows(parameters));
        space
    }

    fn program(&self, parameters: &[u16], class: ProblemClass) -> Program {
        let Cut { rows_are_short, short, long, group, lanes, .. } = cut(parameters);
        let side = SIDES[usize::from(!rows_are_short)];
        Program {
            name: format!("skinny:{side}{short}x{long}@{group}x{lanes}/{class}"),
            source: self.source(),
            options: format!(
                "-DSHORT_ROWS={} -DSHORT={short} -DLONG={long} -DGROUP={group} -DLANES={lanes} {}",
                u8::from(rows_are_short),
                class_options(class)
            ),
            class,
            functions: &["gemm", "reduce"],
            scratch: true,
        }
    }

    fn launches(&self, parameters: &[u16], problem: &CheckedProblem) -> Launches {
        let cut = cut(parameters);
        let [long, short] = cut.groups(problem);
        let local = cut.local(problem.problem().class);
        let parts = cut.parts(problem);
        let layers = u64::from(problem.problem().shape.batch) * u64::from(parts);
        let launches = Launch::cover([long * local[0], short * local[1], layers], local);
        parted::then_reduce(launches, problem, parts)
    }

    fn scratch(&self, parameters: &[u16], problem: &CheckedProblem) -> u64 {
        parted::scratch(problem, cut(parameters).parts(problem))
    }

    fn parts(&self, parameters: &[u16], problem: &CheckedProblem) -> u32 {
        cut(parameters).parts(problem)
    }

    fn work_group(&self, parameters: &[u16]) -> [u64; 3] {
        let Cut { group, lanes, .. } = cut(parameters);
        [group, lanes, 1]
    }

    fn largest_group(&self, parameters: &[u16]) -> u64 {
        let multiplies: u64 = self.work_group(parameters).iter().product();
        multiplies.max(REDUCTION.iter().product())
    }

    fn item(&self, parameters: &[u16]) -> [u64; 3] {
        let Cut { rows_are_short, short, long, .. } = cut(parameters);
        if rows_are_short { [long, short, 1] } else { [short, long, 1] }
    }

    fn fits(&self, parameters: &[u16], limits: &Limits) -> Result<(), Misfit> {
        let cut = cut(parameters);
        limits.check_local_memory(cut.local_memory())?;
        // Which of the two is along which dimension depends on the class.
        limits.check_work_group([cut.group, cut.lanes, 1])?;
        limits.check_work_group([cut.lanes, cut.group, 1])?;
        limits.check_work_group(REDUCTION)
    }
}
