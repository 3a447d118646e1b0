//! Family `subgroup`: `subgroup:RxCxS@ROWxCOL`. Sub-groups of S work-items, as Intel's GPUs run them,
//! compute R rows × C blocks of S columns each; a work-group is ROW×COL such tiles along rows and
//! columns. No local memory, no barriers; the device must be able to fix the sub-groups' width.

use selector_core::ProblemClass;

use super::{Family, class_options};
use crate::{CheckedProblem, Launch, Launches, Limits, Misfit, Program};

/// Rows, blocks of columns, and width of a sub-group: tiles that Gen9's compiler keeps in registers.
const TILES: [(u16, u16, u16); 12] = [
    (1, 8, 8),
    (4, 4, 8),
    (4, 8, 8),
    (8, 2, 8),
    (8, 4, 8),
    (12, 4, 8),
    (16, 2, 8),
    (32, 1, 8),
    (4, 4, 16),
    (8, 1, 16),
    (8, 2, 16),
    (16, 1, 16),
];

/// Sub-groups of a work-group along rows and columns: a square or so, and all on the same rows.
const GROUPS: [(u16, u16); 2] = [(4, 2), (1, 8)];

/// Parameters: rows and blocks of columns of a tile, width of a sub-group, sub-groups of a work-group
/// along rows and columns.
pub(super) struct Subgroup;

#[derive(Clone, Copy)]
struct Cut {
    rows: u64,
    blocks: u64,
    width: u64,
    group: [u64; 2],
}

fn cut(parameters: &[u16]) -> Cut {
    // `allows` was asked before.
    let parameters = parameters.try_into().unwrap_or([1, 1, 8, 1, 1]);
    let [rows, blocks, width, down, across] = parameters.map(u64::from);
    Cut { rows, blocks, width, group: [down, across] }
}

impl Family for Subgroup {
    fn name(&self) -> &'static str {
        "subgroup"
    }

    fn source(&self) -> &'static str {
        concat!(
            include_str!("../../cl/elements.cl"),
            include_str!("../../cl/wide.cl"),
            include_str!("../../cl/subgroup.cl")
        )
    }

    fn expected(&self) -> &'static str {
        "RxCxS@ROWxCOL with RxCxS one of 1x8x8, 4x4x8, 4x8x8, 8x2x8, 8x4x8, 12x4x8, 16x2x8, 32x1x8, \
         4x4x16, 8x1x16, 8x2x16, 16x1x16, and ROWxCOL 4x2 or 1x8"
    }

    fn parse(&self, text: &str) -> Option<Vec<u16>> {
        let (tile, group) = text.split_once('@')?;
        let counts = (tile.split('x').count(), group.split('x').count());
        let values = tile.split('x').chain(group.split('x')).map(|value| value.parse().ok());
        let values = values.collect::<Option<Vec<u16>>>()?;
        (counts == (3, 2)).then_some(values)
    }

    fn write(&self, parameters: &[u16]) -> String {
        let Cut { rows, blocks, width, group: [down, across] } = cut(parameters);
        format!("{rows}x{blocks}x{width}@{down}x{across}")
    }

    fn allows(&self, parameters: &[u16]) -> bool {
        let &[rows, blocks, width, down, across] = parameters else { return false };
        TILES.contains(&(rows, blocks, width)) && GROUPS.contains(&(down, across))
    }

    fn space(&self) -> Vec<Vec<u16>> {
        let lists = TILES.into_iter().flat_map(|(rows, blocks, width)| {
            GROUPS.map(|(down, across)| vec![rows, blocks, width, down, across])
        });
        lists.collect()
    }

    fn program(&self, parameters: &[u16], class: ProblemClass) -> Program {
        let Cut { rows, blocks, width, .. } = cut(parameters);
        Program {
            name: format!("subgroup:{rows}x{blocks}x{width}/{class}"),
            source: self.source(),
            options: format!(
                "-DROWS={rows} -DBLOCKS={blocks} -DLANES={width} {}",
                class_options(class)
            ),
            class,
            functions: &["gemm"],
            scratch: false,
        }
    }

    fn launches(&self, parameters: &[u16], problem: &CheckedProblem) -> Launches {
        let Cut { rows, blocks, width, .. } = cut(parameters);
        let shape = problem.problem().shape;
        let tiles = |size: u32, tile: u64| u64::from(size).div_ceil(tile);
        let columns = tiles(shape.n, blocks * width) * width;
        let items = [columns, tiles(shape.m, rows), u64::from(shape.batch)];
        Launch::cover(items, self.work_group(parameters))
    }

    fn work_group(&self, parameters: &[u16]) -> [u64; 3] {
        // Whole sub-groups along columns, so that none is cut short.
        let Cut { width, group: [down, across], .. } = cut(parameters);
        [width * across, down, 1]
    }

    fn item(&self, parameters: &[u16]) -> [u64; 3] {
        let Cut { rows, blocks, width, .. } = cut(parameters);
        [blocks, rows, width]
    }

    fn fits(&self, parameters: &[u16], limits: &Limits) -> Result<(), Misfit> {
        limits.check_sub_group(cut(parameters).width)?;
        limits.check_work_group(self.work_group(parameters))
    }
}

#[cfg(test)]
mod tests {
    use selector_core::GemmShape;

    use super::*;
    use crate::{Configuration, Problem, SubGroups};

    fn configuration(text: &str) -> Configuration {
        text.parse().unwrap()
    }

    #[test]
    fn every_parameter_list_of_the_space_is_allowed_named_and_reads_back() {
        let space = Subgroup.space();
        assert_eq!(space.len(), TILES.len() * GROUPS.len());
        for parameters in space {
            assert!(Subgroup.allows(&parameters), "{parameters:?}");
            assert_eq!(Subgroup.parse(&Subgroup.write(&parameters)), Some(parameters));
        }
        for (rows, blocks, width) in TILES {
            let tile = format!("{rows}x{blocks}x{width},");
            assert!(Subgroup.expected().contains(&tile), "{tile}");
        }
        assert_eq!(Subgroup.parse("8x4x8"), None);
        assert_eq!(Subgroup.parse("8x4@8x2x2"), None);
        assert!(!Subgroup.allows(&[8, 4, 32, 2, 2]), "no such width");
    }

    #[test]
    fn a_device_must_be_able_to_fix_the_width() {
        let limits = |widths: &[u64]| Limits {
            work_group: 256,
            work_items: [256; 3],
            local_memory: 0,
            sub_groups: widths.iter().copied().collect(),
        };
        let narrow = configuration("subgroup:8x4x8@4x2");
        let wide = configuration("subgroup:8x2x16@4x2");
        assert_eq!(narrow.fits(&limits(&[8, 16])), Ok(()));
        assert_eq!(wide.fits(&limits(&[8, 16])), Ok(()));
        let only_16: SubGroups = [16].into_iter().collect();
        assert_eq!(narrow.fits(&limits(&[16])), Err(Misfit::SubGroups { need: 8, have: only_16 }));
        let message = narrow.fits(&limits(&[])).unwrap_err().to_string();
        assert!(message.contains("cl_intel_required_subgroup_size"), "{message}");
        let small = Limits { work_group: 64, ..limits(&[8, 16]) };
        assert_eq!(narrow.fits(&small), Ok(()));
        assert_eq!(wide.fits(&small), Err(Misfit::WorkGroup { need: 128, have: 64 }));
    }

    #[test]
    fn whole_work_groups_of_whole_sub_groups_cover_c() {
        let launch = |text: &str, shape| {
            let problem = Problem::packed(ProblemClass::F32_NN, shape);
            let [a, b, c] = problem.buffer_lengths().unwrap();
            let launches = configuration(text).launches(&problem.check(a, b, c).unwrap());
            assert_eq!(launches.len(), 1, "{text}");
            (launches[0].global, launches[0].local)
        };
        let shape = GemmShape::new(33, 3, 65, 2);
        assert_eq!(launch("subgroup:8x4x8@4x2", shape), ([32, 8, 2], [16, 4, 1]));
        assert_eq!(launch("subgroup:16x1x16@1x8", shape), ([128, 3, 2], [128, 1, 1]));
        let one = GemmShape::new(1, 0, 1, 1);
        assert_eq!(launch("subgroup:4x4x8@1x8", one), ([64, 1, 1], [64, 1, 1]));
    }
}
