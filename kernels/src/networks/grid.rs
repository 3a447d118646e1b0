//! Named sets of sizes that no network dictates.

use std::collections::BTreeSet;

use selector_core::GemmShape;

/// A named set of shapes.
#[derive(Clone, Copy, Debug)]
pub struct Grid {
    /// The name users type.
    pub name: &'static str,
    shapes: fn() -> Vec<GemmShape>,
}

/// Every grid. `antonnet`, `go2` and `po2` are the second paper's; `first-paper` is
/// [`first_paper`](super::first_paper).
pub static GRIDS: &[Grid] = &[
    Grid { name: "antonnet", shapes: super::antonnet::shapes },
    Grid { name: "first-paper", shapes: super::first_paper },
    Grid { name: "go2", shapes: go2 },
    Grid { name: "po2", shapes: po2 },
];

/// No grid has this name.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("no grid is called `{name}`; grids: {}", super::names(GRIDS.iter().map(|one| one.name)))]
pub struct UnknownGrid {
    /// The name given.
    pub name: String,
}

impl Grid {
    /// The grid called `name`.
    ///
    /// # Errors
    /// [`UnknownGrid`] lists the known ones.
    pub fn by_name(name: &str) -> Result<Self, UnknownGrid> {
        let known = GRIDS.iter().copied().find(|grid| grid.name == name);
        known.ok_or_else(|| UnknownGrid { name: name.to_owned() })
    }

    /// Its distinct shapes, smallest first.
    #[must_use]
    pub fn shapes(&self) -> Vec<GemmShape> {
        (self.shapes)()
    }
}

/// m, k and n powers of two, 64 … 2048.
fn po2() -> Vec<GemmShape> {
    cube((6..=11).map(|power| 1 << power))
}

/// m, k and n multiples of 256, 256 … 3840.
fn go2() -> Vec<GemmShape> {
    cube((1..=15).map(|multiple| multiple * 256))
}

fn cube(sizes: impl Iterator<Item = u32> + Clone) -> Vec<GemmShape> {
    let mut shapes = BTreeSet::new();
    for m in sizes.clone() {
        for k in sizes.clone() {
            shapes.extend(sizes.clone().map(|n| GemmShape::new(m, k, n, 1)));
        }
    }
    shapes.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_have_their_sizes() {
        let of = |name| Grid::by_name(name).unwrap().shapes();
        let (po2, go2) = (of("po2"), of("go2"));
        assert_eq!((po2.len(), go2.len()), (216, 3375));
        let ends = |shapes: &[GemmShape]| [shapes[0], shapes[shapes.len() - 1]];
        let cube = |side| GemmShape::new(side, side, side, 1);
        assert_eq!(ends(&po2), [cube(64), cube(2048)]);
        assert_eq!(ends(&go2), [cube(256), cube(3840)]);
        // By the paper's counts, 3375 and about 460, go2 is 7 times as large; our reading of
        // AntonNet has some more triples.
        assert_eq!(go2.len() / of("antonnet").len(), 6);
        assert_eq!(of("first-paper"), super::super::first_paper());
        assert!(Grid::by_name("po3").unwrap_err().to_string().contains("go2, po2"));
    }
}
