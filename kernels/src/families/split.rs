//! Family `split`: family `local` with k split among work-groups, `split:MxNxK@RxC+G`. Where C has
//! fewer tiles than G, each is computed by several work-groups, whose sums are then added; so a
//! small C with a long k fills the device too.

use selector_core::ProblemClass;

use super::Family;
use super::local::Blocking;
use super::parted::{self, REDUCTION};
use crate::{CheckedProblem, Launches, Limits, Misfit, Program};

/// Work-groups that there should be.
const TARGETS: [u16; 4] = [64, 132, 264, 528];
const SLICED_TARGETS: [u16; 2] = [132, 264];

/// Parameters: those of `local`, and work-groups that there should be.
pub(super) struct Split;

fn split(parameters: &[u16]) -> (Blocking, u16) {
    // `allows` was asked before; anything else would be a tile of nothing.
    let [blocking @ .., target] = parameters.try_into().unwrap_or(&[4; 7]);
    (Blocking::new(blocking), *target)
}

impl Family for Split {
    fn name(&self) -> &'static str {
        "split"
    }

    fn source(&self) -> &'static str {
        concat!(
            include_str!("../../cl/elements.cl"),
            include_str!("../../cl/wide.cl"),
            include_str!("../../cl/local.cl"),
            include_str!("../../cl/reduce.cl")
        )
    }

    fn expected(&self) -> &'static str {
        "MxNxK@RxC+G: the parameters of family `local`, and G 64, 132, 264 or 528"
    }

    fn parse(&self, text: &str) -> Option<Vec<u16>> {
        let (blocking, target) = text.split_once('+')?;
        let mut parameters = Blocking::parse(blocking)?;
        parameters.push(target.parse().ok()?);
        Some(parameters)
    }

    fn write(&self, parameters: &[u16]) -> String {
        let (blocking, target) = split(parameters);
        format!("{}+{target}", blocking.write())
    }

    fn allows(&self, parameters: &[u16]) -> bool {
        parameters.len() == 7 && {
            let (blocking, target) = split(parameters);
            blocking.is_allowed() && TARGETS.contains(&target)
        }
    }

    fn space(&self) -> Vec<Vec<u16>> {
        let with = |six: &[u16; 6], targets: &[u16]| -> Vec<_> {
            targets.iter().map(|target| [&six[..], &[*target]].concat()).collect()
        };
        let whole = Blocking::space(&[1]);
        let mut space: Vec<_> = whole.iter().flat_map(|six| with(six, &TARGETS)).collect();
        // What is sliced as well has fewer work-groups to begin with.
        let sliced = Blocking::space(&[2, 4, 8]);
        let large = sliced.iter().filter(|[m, n, _, rows, ..]| m * n >= 1024 && *rows == 8);
        space.extend(large.flat_map(|six| with(six, &SLICED_TARGETS)));
        space
    }

    fn program(&self, parameters: &[u16], class: ProblemClass) -> Program {
        let (blocking, _) = split(parameters);
        Program {
            name: format!("split:{}/{class}", blocking.write()),
            source: self.source(),
            options: blocking.options(class, true),
            class,
            functions: &["gemm", "reduce"],
            scratch: true,
        }
    }

    fn launches(&self, parameters: &[u16], problem: &CheckedProblem) -> Launches {
        let parts = self.parts(parameters, problem);
        let layers = u64::from(problem.problem().shape.batch) * u64::from(parts);
        parted::then_reduce(split(parameters).0.launches(problem, layers), problem, parts)
    }

    fn scratch(&self, parameters: &[u16], problem: &CheckedProblem) -> u64 {
        parted::scratch(problem, self.parts(parameters, problem))
    }

    fn parts(&self, parameters: &[u16], problem: &CheckedProblem) -> u32 {
        let (blocking, target) = split(parameters);
        let [columns, rows] = blocking.groups(problem);
        let [.., steps] = blocking.item();
        parted::parts(problem, columns.saturating_mul(rows), u64::from(target), steps)
    }

    fn work_group(&self, parameters: &[u16]) -> [u64; 3] {
        split(parameters).0.work_group()
    }

    fn largest_group(&self, parameters: &[u16]) -> u64 {
        let multiplies: u64 = self.work_group(parameters).iter().product();
        multiplies.max(REDUCTION.iter().product())
    }

    fn item(&self, parameters: &[u16]) -> [u64; 3] {
        split(parameters).0.item()
    }

    fn fits(&self, parameters: &[u16], limits: &Limits) -> Result<(), Misfit> {
        split(parameters).0.fits(limits)?;
        limits.check_work_group(REDUCTION)
    }
}
