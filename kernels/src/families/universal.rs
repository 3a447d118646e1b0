//! Family `universal`: one configuration that runs everywhere, at whatever speed.

use selector_core::ProblemClass;

use super::{Family, class_options};
use crate::{CheckedProblem, Launch, Launches, Limits, Misfit, Program};

/// Rows and columns of C that a work-item computes.
const BLOCK: u64 = 4;

/// Work-groups of one work-item, no parameters, no limits.
pub(super) struct Universal;

impl Family for Universal {
    fn name(&self) -> &'static str {
        "universal"
    }

    fn source(&self) -> &'static str {
        include_str!("../../cl/universal.cl")
    }

    fn expected(&self) -> &'static str {
        "none"
    }

    fn parse(&self, text: &str) -> Option<Vec<u16>> {
        text.is_empty().then(Vec::new)
    }

    fn write(&self, _parameters: &[u16]) -> String {
        String::new()
    }

    fn allows(&self, parameters: &[u16]) -> bool {
        parameters.is_empty()
    }

    fn space(&self) -> Vec<Vec<u16>> {
        vec![Vec::new()]
    }

    fn program(&self, _parameters: &[u16], class: ProblemClass) -> Program {
        Program {
            name: format!("universal/{class}"),
            source: self.source(),
            options: format!("-DBLOCK={BLOCK} {}", class_options(class)),
            class,
            functions: &["gemm"],
            scratch: false,
        }
    }

    fn launches(&self, _parameters: &[u16], problem: &CheckedProblem) -> Launches {
        let shape = problem.problem().shape;
        let blocks = |size: u32| u64::from(size).div_ceil(BLOCK);
        Launch::cover(
            [blocks(shape.n), blocks(shape.m), u64::from(shape.batch)],
            self.work_group(&[]),
        )
    }

    fn work_group(&self, _parameters: &[u16]) -> [u64; 3] {
        [1, 1, 1]
    }

    fn item(&self, _parameters: &[u16]) -> [u64; 3] {
        [BLOCK, BLOCK, 1]
    }

    fn fits(&self, _parameters: &[u16], _limits: &Limits) -> Result<(), Misfit> {
        Ok(())
    }
}
