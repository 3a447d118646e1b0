//! Family `packed`: `packed:SIDES-RxCxP@ROWxCOL`. A first function rearranges A, B or both into
//! padded panels of f32 in scratch memory (or each work-item copies its columns of B, a block of k
//! at a time, into local memory); a second multiplies them. Each work-item computes P tiles of R×C
//! below one another; work-groups of ROW×COL work-items along rows and columns.

use selector_core::ProblemClass;

use super::{Family, class_options};
use crate::{CheckedProblem, Launch, Launches, Limits, Misfit, Program};

/// What is packed, by number: bit 0 is A; B is not, in scratch memory, or block by block.
const SIDES: [&str; 6] = ["none", "a", "b", "ab", "block", "ablock"];
const BLOCKWISE: u16 = 2;
const ROWS: [u16; 6] = [2, 4, 6, 8, 12, 16];
const COLUMNS: [u16; 3] = [4, 8, 16];
const TILES: [u16; 4] = [1, 4, 16, 64];

/// Work-groups along rows and columns.
const WORK_GROUPS: [(u16, u16); 6] = [(1, 1), (1, 64), (4, 16), (8, 8), (8, 16), (16, 16)];

/// What is worth measuring. Work-groups of one work-item suit processors with wide vectors, the
/// others those with many threads.
const MEASURED: [&str; 50] = [
    "none-2x16x1@1x1",
    "none-4x16x4@1x1",
    "none-6x16x4@1x1",
    "none-8x16x1@1x1",
    "none-8x16x4@1x1",
    "none-12x8x4@1x1",
    "none-12x16x1@1x1",
    "none-12x16x4@1x1",
    "none-16x4x1@1x1",
    "block-4x16x16@1x1",
    "block-6x16x16@1x1",
    "block-8x16x16@1x1",
    "block-8x16x64@1x1",
    "block-12x8x16@1x1",
    "block-12x16x16@1x1",
    "block-12x16x64@1x1",
    "a-4x16x4@1x1",
    "a-6x16x4@1x1",
    "a-8x16x4@1x1",
    "ablock-6x16x16@1x1",
    "ablock-8x16x16@1x1",
    "ablock-8x16x64@1x1",
    "b-6x16x4@1x1",
    "b-8x16x4@1x1",
    "b-12x8x4@1x1",
    "b-12x16x4@1x1",
    "ab-6x16x4@1x1",
    "ab-8x16x4@1x1",
    "ab-12x8x4@1x1",
    "ab-12x16x4@1x1",
    "none-4x4x1@8x8",
    "none-8x4x1@8x8",
    "none-4x8x1@8x8",
    "none-8x8x1@8x8",
    "b-4x4x1@8x8",
    "b-8x4x1@8x8",
    "b-4x8x1@8x8",
    "b-8x8x1@8x8",
    "ab-4x4x1@8x8",
    "ab-8x4x1@8x8",
    "ab-4x8x1@8x8",
    "ab-8x8x1@8x8",
    "b-4x4x1@4x16",
    "b-8x4x1@4x16",
    "b-4x8x1@4x16",
    "b-8x8x1@4x16",
    "ab-4x4x1@4x16",
    "ab-8x4x1@4x16",
    "ab-4x8x1@4x16",
    "ab-8x8x1@4x16",
];

/// Steps along k of a block in local memory.
const BLOCK: u64 = 256;

/// Parameters: sides; rows and columns of a tile, tiles; work-group along rows and columns.
pub(super) struct Packed;

#[derive(Clone, Copy)]
struct Parameters {
    sides: u16,
    rows: u64,
    columns: u64,
    tiles: u64,
    group: [u64; 2],
}

/// Strips of A (a tile's rows) and of B (its columns) up to the end of the last panel, and floats
/// of the panels of one matrix of each; 0 where a side is not packed into scratch memory.
struct Panels {
    strips: [u64; 2],
    floats: [u64; 2],
}

impl Parameters {
    fn new(parameters: &[u16]) -> Self {
        // `allows` was asked before; anything else would be the smallest tile.
        let [sides, rest @ ..] = parameters.try_into().unwrap_or([0, 2, 4, 1, 1, 1]);
        let [rows, columns, tiles, row, column] = rest.map(u64::from);
        Self { sides, rows, columns, tiles, group: [row, column] }
    }

    const fn packs_a(self) -> bool {
        self.sides % 2 == 1
    }

    /// 0 no, 1 into scratch memory, [`BLOCKWISE`].
    const fn packs_b(self) -> u16 {
        self.sides / 2
    }

    const fn uses_scratch(self) -> bool {
        self.packs_a() || self.packs_b() == 1
    }

    /// Steps along k that a work-item packs.
    const fn chunk(self) -> u64 {
        if self.group[0] * self.group[1] == 1 { 256 } else { 4 }
    }

    fn panels(self, problem: &CheckedProblem) -> Panels {
        let shape = problem.problem().shape;
        let k = u64::from(problem.effective_k());
        let strips = |packed: bool, size: u32, width: u64, group: u64| {
            if packed { u64::from(size).div_ceil(width * group) * group } else { 0 }
        };
        let strips = [
            strips(self.packs_a(), shape.m, self.rows, self.group[0]),
            strips(self.packs_b() == 1, shape.n, self.columns, self.group[1]),
        ];
        let floats = [strips[0] * self.rows, strips[1] * self.columns];
        Panels { strips, floats: floats.map(|one| one.saturating_mul(k)) }
    }

    /// Bytes of local memory.
    const fn local_memory(self) -> u64 {
        if self.packs_b() == BLOCKWISE {
            4 * self.columns * (BLOCK + self.tiles * self.rows)
        } else {
            0
        }
    }
}

impl Family for Packed {
    fn name(&self) -> &'static str {
        "packed"
    }

    fn source(&self) -> &'static str {
        concat!(
            include_str!("../../cl/elements.cl"),
            include_str!("../../cl/wide.cl"),
            include_str!("../../cl/packed.cl")
        )
    }

    fn expected(&self) -> &'static str {
        "SIDES-RxCxP@ROWxCOL with SIDES none, a, b, ab, block or ablock, R 2, 4, 6, 8, 12 or 16, \
         C 4, 8 or 16, P 1, 4, 16 or 64 and ROWxCOL one of 1x1, 1x64, 4x16, 8x8, 8x16, 16x16; \
         only 1x1 for block and ablock"
    }

    fn parse(&self, text: &str) -> Option<Vec<u16>> {
        let (sides, rest) = text.split_once('-')?;
        let (tiles, work_group) = rest.split_once('@')?;
        let sides = SIDES.iter().position(|name| *name == sides)?;
        let values = tiles.split('x').chain(work_group.split('x'));
        let counts = (tiles.split('x').count(), work_group.split('x').count());
        let values = values.map(|value| value.parse().ok());
        let all = std::iter::once(u16::try_from(sides).ok()).chain(values);
        let all = all.collect::<Option<Vec<u16>>>()?;
        (counts == (3, 2)).then_some(all)
    }

    fn write(&self, parameters: &[u16]) -> String {
        let Parameters { sides, rows, columns, tiles, group: [row, column] } =
            Parameters::new(parameters);
        let sides = SIDES.get(usize::from(sides)).copied().unwrap_or_default();
        format!("{sides}-{rows}x{columns}x{tiles}@{row}x{column}")
    }

    fn allows(&self, parameters: &[u16]) -> bool {
        let &[sides, rows, columns, tiles, row, column] = parameters else { return false };
        usize::from(sides) < SIDES.len()
            && ROWS.contains(&rows)
            && COLUMNS.contains(&columns)
            && TILES.contains(&tiles)
            && WORK_GROUPS.contains(&(row, column))
            && (sides / 2 != BLOCKWISE || (row, column) == (1, 1))
    }

    fn space(&self) -> Vec<Vec<u16>> {
        MEASURED.iter().filter_map(|text| self.parse(text)).collect()
    }

    fn program(&self, parameters: &[u16], class: ProblemClass) -> Program {
        let own = Parameters::new(parameters);
        let Parameters { rows, columns, tiles, group: [row, column], .. } = own;
        let (a, b) = (u8::from(own.packs_a()), own.packs_b());
        Program {
            name: format!("packed:{}/{class}", self.write(parameters)),
            source: self.source(),
            options: format!(
                "-DPACK_A={a} -DPACK_B={b} -DROWS={rows} -DCOLUMNS={columns} -DPANELS={tiles} \
                 -DGROUP_ROWS={row} -DGROUP_COLUMNS={column} -DBLOCK={BLOCK} -DCHUNK={} {}",
                own.chunk(),
                class_options(class)
            ),
            class,
            functions: if own.uses_scratch() { &["gemm", "pack"] } else { &["gemm"] },
            scratch: own.uses_scratch(),
        }
    }

    fn launches(&self, parameters: &[u16], problem: &CheckedProblem) -> Launches {
        let own = Parameters::new(parameters);
        let shape = problem.problem().shape;
        let batch = u64::from(shape.batch);
        let columns = u64::from(shape.n).div_ceil(own.columns);
        let rows = u64::from(shape.m).div_ceil(own.rows * own.tiles);
        let multiply = Launch::cover([columns, rows, batch], self.work_group(parameters));
        let k = u64::from(problem.effective_k());
        if !own.uses_scratch() || k == 0 {
            return multiply;
        }
        let strips = own.panels(problem).strips.iter().sum();
        let group = own.group[0] * own.group[1];
        Launch::cover([k.div_ceil(own.chunk()), strips, batch], [group, 1, 1]).of(1).then(multiply)
    }

    fn scratch(&self, parameters: &[u16], problem: &CheckedProblem) -> u64 {
        let floats = Parameters::new(parameters).panels(problem).floats;
        let problem = problem.problem();
        // All matrices of the batch share one panel of an input that is the same for all.
        let copies = [problem.a.stride, problem.b.stride]
            .map(|stride| if stride == 0 { 1 } else { u64::from(problem.shape.batch) });
        let [a, b] = [0, 1].map(|side| floats[side].saturating_mul(copies[side]));
        a.saturating_add(b).saturating_mul(4)
    }

    fn work_group(&self, parameters: &[u16]) -> [u64; 3] {
        let [row, column] = Parameters::new(parameters).group;
        [column, row, 1]
    }

    fn item(&self, parameters: &[u16]) -> [u64; 3] {
        let Parameters { rows, columns, tiles, .. } = Parameters::new(parameters);
        [columns, rows * tiles, 1]
    }

    fn fits(&self, parameters: &[u16], limits: &Limits) -> Result<(), Misfit> {
        limits.check_work_group(self.work_group(parameters))?;
        // The pack function has all of a work-group's items along its first dimension.
        let [row, column] = Parameters::new(parameters).group;
        if Parameters::new(parameters).uses_scratch() {
            limits.check_work_group([row * column, 1, 1])?;
        }
        limits.check_local_memory(Parameters::new(parameters).local_memory())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use selector_core::GemmShape;

    use super::*;
    use crate::{Configuration, Problem, SubGroups};

    fn configuration(text: &str) -> Configuration {
        text.parse().unwrap()
    }

    fn checked(m: u32, k: u32, n: u32, batch: u32) -> CheckedProblem {
        let problem = Problem::packed(ProblemClass::F32_NN, GemmShape::new(m, k, n, batch));
        problem.check(u64::MAX, u64::MAX, u64::MAX).unwrap()
    }

    #[test]
    fn every_parameter_list_of_the_space_is_allowed_and_reads_back() {
        let space = Packed.space();
        assert_eq!(space.len(), MEASURED.len());
        assert_eq!(space.iter().collect::<BTreeSet<_>>().len(), space.len());
        for parameters in space {
            assert!(Packed.allows(&parameters), "{parameters:?}");
            assert_eq!(Packed.parse(&Packed.write(&parameters)), Some(parameters));
        }
        assert!(!Packed.allows(&[4, 8, 16, 16, 8, 8]), "a block is one work-item's");
        assert_eq!(Packed.parse("both-8x16x4@1x1"), None);
        assert_eq!(Packed.parse("ab-8x16@4x1x1"), None);
    }

    #[test]
    fn scratch_holds_whole_panels_of_the_sides_that_are_packed() {
        let problem = checked(9, 10, 17, 3);
        let bytes = |text| configuration(text).scratch(&problem);
        assert_eq!(bytes("packed:none-8x16x4@1x1"), 0);
        assert_eq!(bytes("packed:block-8x16x16@1x1"), 0);
        assert_eq!(bytes("packed:a-8x16x4@1x1"), 4 * 10 * 16 * 3);
        assert_eq!(bytes("packed:b-8x16x4@1x1"), 4 * 10 * 32 * 3);
        assert_eq!(bytes("packed:ab-8x16x4@1x1"), 4 * 10 * 48 * 3);
        assert_eq!(bytes("packed:ab-8x16x4@8x8"), 4 * 10 * (64 + 128) * 3);
    }

    #[test]
    fn an_input_that_the_batch_shares_is_packed_once() {
        let mut problem = Problem::packed(ProblemClass::F32_NN, GemmShape::new(8, 10, 16, 3));
        problem.b.stride = 0;
        let problem = problem.check(240, 160, 384).unwrap();
        let ab = configuration("packed:ab-8x16x4@1x1");
        assert_eq!(ab.scratch(&problem), 4 * 10 * (8 * 3 + 16));
    }

    #[test]
    fn scratch_of_a_huge_problem_saturates() {
        let problem = checked(u32::MAX, 1, 1, u32::MAX);
        assert_eq!(configuration("packed:a-16x4x1@16x16").scratch(&problem), u64::MAX);
    }

    #[test]
    fn without_products_nothing_is_packed() {
        let ab = configuration("packed:ab-8x16x4@1x1");
        let functions = |problem: &CheckedProblem| -> Vec<_> {
            ab.launches(problem).iter().map(|launch| launch.function).collect()
        };
        assert_eq!(functions(&checked(9, 10, 17, 3)), [1, 0]);
        let problem = Problem::packed(ProblemClass::F32_NN, GemmShape::new(9, 10, 17, 3));
        let problem = Problem { alpha: 0.0, ..problem }.check(270, 510, 459).unwrap();
        assert_eq!(functions(&problem), [0]);
        assert_eq!(ab.scratch(&problem), 0);
    }

    #[test]
    fn a_block_wants_local_memory() {
        let limits = Limits {
            work_group: 256,
            work_items: [256; 3],
            local_memory: 32_768,
            sub_groups: SubGroups::NONE,
        };
        assert_eq!(configuration("packed:block-12x16x16@1x1").fits(&limits), Ok(()));
        assert_eq!(
            configuration("packed:block-12x16x64@1x1").fits(&limits),
            Err(Misfit::LocalMemory { need: 65_536, have: 32_768 })
        );
        let flat = Limits { work_items: [32, 256, 1], ..limits };
        assert_eq!(configuration("packed:none-8x8x1@8x8").fits(&flat), Ok(()));
        assert!(configuration("packed:ab-8x8x1@8x8").fits(&flat).is_err());
    }
}
