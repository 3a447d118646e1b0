//! Family `local`: tiles of A and B in local memory, `local:MxNxK@RxC` or `local:MxNxK@RxCxS`. A
//! work-group computes an M×N tile of C in steps of K along k, each work-item R rows and C columns of
//! it; S work-items share those and split K among them.

use selector_core::ProblemClass;

use super::parted::LOCAL_MEMORY;
use super::{Family, class_options};
use crate::{CheckedProblem, Launch, Launches, Limits, Misfit, Program};

/// Rows and columns of C that a work-group computes.
const TILES: [(u16, u16); 17] = [
    (16, 16),
    (16, 32),
    (32, 16),
    (16, 64),
    (16, 128),
    (32, 32),
    (32, 64),
    (32, 128),
    (64, 16),
    (64, 32),
    (64, 64),
    (64, 128),
    (128, 16),
    (128, 32),
    (128, 64),
    (128, 128),
    (256, 128),
];

/// Steps along k that are in local memory at once.
const STEPS: [u16; 4] = [8, 16, 32, 64];

/// Rows and columns of C that a work-item computes.
const ITEMS: [(u16, u16); 5] = [(4, 4), (4, 8), (8, 4), (8, 8), (16, 8)];

/// Work-items that compute the same elements of C, each over its share of a tile's steps.
const SLICES: [u16; 4] = [1, 2, 4, 8];

/// Work-items of a work-group: fewer leave the device idle, more do not fit everywhere.
const GROUPS: std::ops::RangeInclusive<u64> = 32..=256;

/// Elements that are moved at once.
const VECTOR: u64 = 4;

/// Parameters: the tile's rows, columns and steps; a work-item's rows and columns; slices.
pub(super) struct Local;

/// How a tile of C is cut, in elements.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Blocking {
    tile: (u16, u16),
    steps: u16,
    item: (u16, u16),
    slices: u16,
}

impl Blocking {
    /// The blocking that six parameters give.
    pub(super) fn new(&[m, n, k, rows, columns, slices]: &[u16; 6]) -> Self {
        Self { tile: (m, n), steps: k, item: (rows, columns), slices }
    }

    /// Read `MxNxK@RxC` or `MxNxK@RxCxS`.
    pub(super) fn parse(text: &str) -> Option<Vec<u16>> {
        let (tile, item) = text.split_once('@')?;
        let counts = (tile.split('x').count(), item.split('x').count());
        let values = tile.split('x').chain(item.split('x')).map(|value| value.parse().ok());
        let mut values = values.collect::<Option<Vec<u16>>>()?;
        match counts {
            (3, 2) => values.push(1),
            // One slice is not written.
            (3, 3) if values.last() != Some(&1) => {}
            _ => return None,
        }
        Some(values)
    }

    /// Every blocking worth measuring with so many slices, as parameters.
    pub(super) fn space(slices: &[u16]) -> Vec<[u16; 6]> {
        let mut space = Vec::new();
        for &slices in slices {
            for (m, n) in TILES {
                for k in STEPS {
                    for (rows, columns) in ITEMS {
                        space.push([m, n, k, rows, columns, slices]);
                    }
                }
            }
        }
        space.retain(|parameters| Self::new(parameters).is_worth_measuring());
        space
    }

    /// Slices want many steps, and tiles and items that leave room for them; the smallest tiles and 64
    /// steps want slices.
    fn is_worth_measuring(&self) -> bool {
        let area = u32::from(self.tile.0) * u32::from(self.tile.1);
        let sliced = self.steps >= 32 && area <= 8192 && self.item != (16, 8);
        let whole = self.steps < 64 && area >= 1024;
        self.is_allowed() && if self.slices > 1 { sliced } else { whole }
    }

    /// Whether the kernel can be built so.
    pub(super) fn is_allowed(&self) -> bool {
        let listed = TILES.contains(&self.tile)
            && STEPS.contains(&self.steps)
            && ITEMS.contains(&self.item)
            && SLICES.contains(&self.slices);
        let shared = |tile: u16| {
            let vectors = u64::from(tile) * u64::from(self.steps) / VECTOR;
            vectors.is_multiple_of(self.group())
        };
        let whole =
            self.tile.0.is_multiple_of(self.item.0) && self.tile.1.is_multiple_of(self.item.1);
        listed
            && whole
            && GROUPS.contains(&self.group())
            && shared(self.tile.0)
            && shared(self.tile.1)
            && self.local_memory() <= LOCAL_MEMORY
    }

    /// `MxNxK@RxC`, or `MxNxK@RxCxS` with more than one slice.
    pub(super) fn write(&self) -> String {
        let Self { tile: (m, n), steps, item: (rows, columns), slices } = self;
        let slices = if *slices == 1 { String::new() } else { format!("x{slices}") };
        format!("{m}x{n}x{steps}@{rows}x{columns}{slices}")
    }

    /// Build options.
    pub(super) fn options(&self, class: ProblemClass, split: bool) -> String {
        let Self { tile: (m, n), steps, item: (rows, columns), slices } = self;
        format!(
            "-DTILE_M={m} -DTILE_N={n} -DTILE_K={steps} -DITEM_M={rows} -DITEM_N={columns} \
             -DSLICES={slices} -DSPLIT={} {}",
            u8::from(split),
            class_options(class)
        )
    }

    /// Work-items of a work-group along columns, rows and batch.
    pub(super) fn work_group(&self) -> [u64; 3] {
        let across = |tile: u16, item: u16| u64::from(tile / item.max(1));
        [across(self.tile.1, self.item.1), across(self.tile.0, self.item.0), u64::from(self.slices)]
    }

    fn group(&self) -> u64 {
        self.work_group().iter().product()
    }

    /// Columns and rows of C that a work-item computes, and steps along k that are taken at once.
    pub(super) fn item(&self) -> [u64; 3] {
        [self.item.1, self.item.0, self.steps].map(u64::from)
    }

    /// Bytes of local memory in the class that pads both tiles: two tiles each of A and B, or the sums
    /// of all slices but one.
    fn local_memory(&self) -> u64 {
        let row = |tile: u16| u64::from(tile) + VECTOR;
        let tiles = 2 * u64::from(self.steps) * (row(self.tile.0) + row(self.tile.1));
        let sums = u64::from(self.slices.saturating_sub(1))
            * u64::from(self.tile.0)
            * u64::from(self.tile.1);
        tiles.max(sums) * 4
    }

    /// Work-groups along columns and rows of C.
    pub(super) fn groups(&self, problem: &CheckedProblem) -> [u64; 2] {
        let shape = problem.problem().shape;
        let tiles = |size: u32, tile: u16| u64::from(size).div_ceil(u64::from(tile));
        [tiles(shape.n, self.tile.1), tiles(shape.m, self.tile.0)]
    }

    /// Launches of function 0 for all tiles of C, `layers` times each.
    pub(super) fn launches(&self, problem: &CheckedProblem, layers: u64) -> Launches {
        let ([columns, rows], local) = (self.groups(problem), self.work_group());
        Launch::cover([columns * local[0], rows * local[1], layers * local[2]], local)
    }

    /// Whether a device with these limits can run the kernel.
    pub(super) fn fits(&self, limits: &Limits) -> Result<(), Misfit> {
        limits.check_local_memory(self.local_memory())?;
        limits.check_work_group(self.work_group())
    }
}

fn blocking(parameters: &[u16]) -> Blocking {
    // `allows` was asked before; anything else would be a tile of nothing.
    Blocking::new(parameters.try_into().unwrap_or(&[4; 6]))
}

impl Family for Local {
    fn name(&self) -> &'static str {
        "local"
    }

    fn source(&self) -> &'static str {
        concat!(
            include_str!("../../cl/elements.cl"),
            include_str!("../../cl/wide.cl"),
            include_str!("../../cl/local.cl")
        )
    }

    fn expected(&self) -> &'static str {
        "MxNxK@RxC or MxNxK@RxCxS: a tile of 16x16, 16x32, 16x64, 16x128, 32x16, 32x32, 32x64, 32x128, \
         64x16, 64x32, 64x64, 64x128, 128x16, 128x32, 128x64, 128x128 or 256x128 with K 8, 16, 32 or \
         64, RxC 4x4, 4x8, 8x4, 8x8 or 16x8 of it a work-item, and S 2, 4 or 8; 32 to 256 work-items \
         that share the tiles evenly"
    }

    fn parse(&self, text: &str) -> Option<Vec<u16>> {
        Blocking::parse(text)
    }

    fn write(&self, parameters: &[u16]) -> String {
        blocking(parameters).write()
    }

    fn allows(&self, parameters: &[u16]) -> bool {
        parameters.try_into().is_ok_and(|six| Blocking::new(six).is_allowed())
    }

    fn space(&self) -> Vec<Vec<u16>> {
        Blocking::space(&SLICES).into_iter().map(Vec::from).collect()
    }

    fn program(&self, parameters: &[u16], class: ProblemClass) -> Program {
        let blocking = blocking(parameters);
        Program {
            name: format!("local:{}/{class}", blocking.write()),
            source: self.source(),
            options: blocking.options(class, false),
            class,
            functions: &["gemm"],
            scratch: false,
        }
    }

    fn launches(&self, parameters: &[u16], problem: &CheckedProblem) -> Launches {
        blocking(parameters).launches(problem, u64::from(problem.problem().shape.batch))
    }

    fn work_group(&self, parameters: &[u16]) -> [u64; 3] {
        blocking(parameters).work_group()
    }

    fn item(&self, parameters: &[u16]) -> [u64; 3] {
        blocking(parameters).item()
    }

    fn fits(&self, parameters: &[u16], limits: &Limits) -> Result<(), Misfit> {
        blocking(parameters).fits(limits)
    }
}
