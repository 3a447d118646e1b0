//! Family `tile`: the first paper's kernel, `tile:RxAxC@ROWxCOL`. Each work-item computes an R×C
//! tile of C, stepping along k by A; work-groups of ROW×COL work-items along rows and columns.

use selector_core::ProblemClass;

use super::{Family, class_options};
use crate::{CheckedProblem, Launch, Launches, Program};

const TILES: [u16; 4] = [1, 2, 4, 8];

/// Work-groups along rows and columns.
const WORK_GROUPS: [(u16, u16); 10] =
    [(1, 64), (1, 128), (8, 8), (8, 16), (8, 32), (16, 8), (16, 16), (32, 8), (64, 1), (128, 1)];

/// Parameters: row, accumulator and column tile; work-group along rows and columns.
pub(super) struct Tile;

fn parts(parameters: &[u16]) -> [u16; 5] {
    // `allows` was asked before; anything else would be a 1×1×1 tile.
    parameters.try_into().unwrap_or([1; 5])
}

impl Family for Tile {
    fn name(&self) -> &'static str {
        "tile"
    }

    fn source(&self) -> &'static str {
        concat!(
            include_str!("../../cl/elements.cl"),
            include_str!("../../cl/wide.cl"),
            include_str!("../../cl/tile.cl")
        )
    }

    fn expected(&self) -> &'static str {
        "RxAxC@ROWxCOL with R, A and C 1, 2, 4 or 8 and ROWxCOL one of 1x64, 1x128, 8x8, 8x16, \
         8x32, 16x8, 16x16, 32x8, 64x1, 128x1"
    }

    fn parse(&self, text: &str) -> Option<Vec<u16>> {
        let (tiles, work_group) = text.split_once('@')?;
        let values = tiles.split('x').chain(work_group.split('x'));
        let counts = (tiles.split('x').count(), work_group.split('x').count());
        let values = values.map(|value| value.parse().ok()).collect::<Option<Vec<u16>>>()?;
        (counts == (3, 2)).then_some(values)
    }

    fn write(&self, parameters: &[u16]) -> String {
        let [r, a, c, row, column] = parts(parameters);
        format!("{r}x{a}x{c}@{row}x{column}")
    }

    fn allows(&self, parameters: &[u16]) -> bool {
        let &[r, a, c, row, column] = parameters else { return false };
        [r, a, c].iter().all(|tile| TILES.contains(tile)) && WORK_GROUPS.contains(&(row, column))
    }

    fn space(&self) -> Vec<Vec<u16>> {
        let mut space = Vec::new();
        for r in TILES {
            for a in TILES {
                for c in TILES {
                    for (row, column) in WORK_GROUPS {
                        space.push(vec![r, a, c, row, column]);
                    }
                }
            }
        }
        space
    }

    fn program(&self, parameters: &[u16], class: ProblemClass) -> Program {
        let [r, a, c, ..] = parts(parameters);
        Program {
            name: format!("tile:{r}x{a}x{c}/{class}"),
            source: self.source(),
            options: format!(
                "-DROW_TILE={r} -DACC_TILE={a} -DCOL_TILE={c} {}",
                class_options(class)
            ),
            class,
            functions: &["gemm"],
            scratch: false,
        }
    }

    fn launches(&self, parameters: &[u16], problem: &CheckedProblem) -> Launches {
        let [r, _, c, ..] = parts(parameters);
        let shape = problem.problem().shape;
        let tiles = |size: u32, tile: u16| u64::from(size).div_ceil(u64::from(tile));
        let items = [tiles(shape.n, c), tiles(shape.m, r), u64::from(shape.batch)];
        Launch::cover(items, self.work_group(parameters))
    }

    fn work_group(&self, parameters: &[u16]) -> [u64; 3] {
        let [_, _, _, row, column] = parts(parameters);
        [u64::from(column), u64::from(row), 1]
    }

    fn item(&self, parameters: &[u16]) -> [u64; 3] {
        let [r, a, c, ..] = parts(parameters);
        [c, r, a].map(u64::from)
    }
}
