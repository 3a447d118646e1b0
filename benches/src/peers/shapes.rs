//! The shapes that are compared: the first paper's list, and beside it fully connected layers and a
//! large square.

use anyhow::Context;
use kernels::networks;
use selector_core::GemmShape;

/// The fully connected layers of VGG16, one image.
pub const FULLY_CONNECTED: [GemmShape; 3] = [
    GemmShape::new(1, 25088, 4096, 1),
    GemmShape::new(1, 4096, 4096, 1),
    GemmShape::new(1, 4096, 1000, 1),
];
/// A large square.
pub const SQUARE: GemmShape = GemmShape::new(4096, 4096, 4096, 1);

/// Most operations of a shape for a CPU.
const CPU_FLOP: f64 = 1e9;
/// Of the first paper's shapes up to there, by operations, one in so many is for a CPU.
const CPU_EVERY: usize = 3;

/// What lists there are, for help texts.
pub(super) const LISTS: &str = "layers, layers-cpu, quick";

/// The shapes of a list, each once, in the order in which they are measured:
///
/// - `layers`: all of the first paper's, [`FULLY_CONNECTED`] and [`SQUARE`];
/// - `layers-cpu`: of the first paper's up to 1 GFLOP, in the order of their operations, every third
///   from the first on, and [`FULLY_CONNECTED`];
/// - `quick`: six of these, to see that all works;
/// - otherwise a network, a grid or a CSV file with the columns m, k, n and perhaps batch.
///
/// # Errors
/// There is no such list.
pub fn named(name: &str) -> anyhow::Result<Vec<GemmShape>> {
    match name {
        "layers" => Ok(layers()),
        "layers-cpu" => Ok(layers_cpu()),
        "quick" => Ok(quick()),
        _ => trainer::shape_list::of(&[name.to_owned()], 1)
            .with_context(|| format!("shape lists besides these: {LISTS}")),
    }
}

/// Smaller ones first, so that a run that is cut short has most of them.
fn by_operations(mut shapes: Vec<GemmShape>) -> Vec<GemmShape> {
    shapes.sort_by(|one, other| one.flop().total_cmp(&other.flop()).then(one.cmp(other)));
    shapes
}

fn layers() -> Vec<GemmShape> {
    let mut shapes = networks::first_paper();
    shapes.extend(FULLY_CONNECTED);
    shapes.push(SQUARE);
    by_operations(shapes)
}

fn layers_cpu() -> Vec<GemmShape> {
    let mut shapes = by_operations(networks::first_paper());
    shapes.retain(|shape| shape.flop() <= CPU_FLOP);
    let mut shapes: Vec<GemmShape> = shapes.into_iter().step_by(CPU_EVERY).collect();
    shapes.extend(FULLY_CONNECTED);
    by_operations(shapes)
}

fn quick() -> Vec<GemmShape> {
    layers_cpu().into_iter().step_by(15).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// `trainer/data/h200-peers.csv`, measured before.
    const MEASURED: &str = include_str!("../../../trainer/data/h200-peers.csv");

    fn count(shapes: &[GemmShape]) -> usize {
        shapes.iter().collect::<BTreeSet<_>>().len()
    }

    #[test]
    fn the_list_is_that_of_the_earlier_measurements_and_four_shapes_more() {
        let measured = MEASURED.lines().skip(1).map(|line| {
            let mut sizes = line.split(',').map(|size| size.parse().unwrap());
            let mut next = || sizes.next().unwrap();
            GemmShape::new(next(), next(), next(), next())
        });
        let mut expected: BTreeSet<GemmShape> = measured.collect();
        assert_eq!(expected.len(), 299);
        expected.extend(FULLY_CONNECTED);
        expected.insert(SQUARE);
        let shapes = layers();
        assert_eq!((shapes.len(), count(&shapes)), (303, 303));
        assert_eq!(shapes.into_iter().collect::<BTreeSet<_>>(), expected);
    }

    #[test]
    fn a_cpu_gets_at_least_sixty_of_them_spread_over_their_sizes() {
        let (shapes, all) = (layers_cpu(), layers());
        assert_eq!((shapes.len(), count(&shapes)), (76, 76));
        assert!(shapes.iter().all(|shape| all.contains(shape) && shape.flop() <= CPU_FLOP));
        assert!(FULLY_CONNECTED.iter().all(|shape| shapes.contains(shape)));
        assert!(shapes.is_sorted_by(|one, other| one.flop() <= other.flop()));
    }

    #[test]
    fn other_lists_are_networks_and_files_and_nothing_else_is_guessed() {
        assert_eq!(named("quick").unwrap().len(), 6);
        assert_eq!(count(&quick()), 6);
        assert!(named("vgg16").unwrap().contains(&FULLY_CONNECTED[0]));
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("mine.csv");
        std::fs::write(&file, "m,k,n\n3,4,5\n").unwrap();
        assert_eq!(named(file.to_str().unwrap()).unwrap(), [GemmShape::new(3, 4, 5, 1)]);
        let error = format!("{:#}", named("nothing").unwrap_err());
        assert!(error.contains("layers-cpu") && error.contains("vgg16"), "{error}");
    }
}
