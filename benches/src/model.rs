//! Seeded models of a wanted size, grown as a trainer would: by splitting sets of shapes.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use selector_core::{
    EncodeError, Feature, GemmShape, KernelId, Leaf, Loss, MAX_FEATURES, MAX_KERNELS, ModelSource,
    PackedConfig, ProblemClass, Samples, Tree, TreeSource,
};

use crate::shapes::{below, distinct};

/// Shapes drawn for each leaf that is wanted.
const SHAPES_A_LEAF: usize = 16;

/// What trained models ask for.
const FEATURES: [Feature; MAX_FEATURES] =
    [Feature::M, Feature::K, Feature::N, Feature::Bmn, Feature::Bmnk];

/// A model that is measured.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// What figures call it.
    pub name: &'static str,
    leaves: usize,
    kernels: usize,
    depth: usize,
}

impl Measured {
    /// Both models: 8 kernels, 40 leaves, 8 deep; and 80 kernels, 1200 leaves, 19 deep.
    pub const ALL: [Self; 2] = [
        Self { name: "small", leaves: 40, kernels: 8, depth: 8 },
        Self { name: "large", leaves: 1200, kernels: 80, depth: 19 },
    ];
    const SEED: u64 = 1;

    /// Its bytes, always the same.
    ///
    /// # Errors
    /// None for those in [`Self::ALL`].
    pub fn blob(&self) -> Result<Vec<u8>, GenerateError> {
        generate(self.leaves, self.kernels, self.depth, Self::SEED)
    }
}

/// Why there is no such model.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum GenerateError {
    /// The format refuses it.
    #[error("could not encode the model")]
    Encode(#[from] EncodeError),
    /// No kernel, or more than a model holds.
    #[error("{0} kernels asked for; ask for 1 to {MAX_KERNELS}")]
    Kernels(usize),
    /// The tree cannot have so many leaves.
    #[error("a tree {depth} deep has {most} leaves here, not {leaves}; ask for fewer or deeper")]
    Leaves {
        /// Leaves asked for.
        leaves: usize,
        /// Splits on a path allowed.
        depth: usize,
        /// Leaves reached.
        most: usize,
    },
}

/// A model for f32-nn with exactly `leaves` leaves, at most `depth` splits on a path, and a list
/// of `kernels`, all of which lead some leaf when there are as many; the same bytes for the same
/// arguments.
///
/// # Errors
/// [`GenerateError`] says which argument is out of reach.
pub fn generate(
    leaves: usize,
    kernels: usize,
    depth: usize,
    seed: u64,
) -> Result<Vec<u8>, GenerateError> {
    let count = u8::try_from(kernels).ok().filter(|count| (1..=MAX_KERNELS as u8).contains(count));
    let count = count.ok_or(GenerateError::Kernels(kernels))?;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut grown = grow(leaves, depth, &mut random);
    let most = grown.iter().filter(|branch| matches!(branch, Branch::Leaf { .. })).count();
    if most != leaves {
        return Err(GenerateError::Leaves { leaves, depth, most });
    }
    let mut next = 0;
    for branch in &mut grown {
        if let Branch::Leaf { leaf, shapes, .. } = branch {
            *leaf = answer(next, count, shapes.len(), &mut random);
            next = (next + 1) % count;
        }
    }
    let class = ProblemClass::F32_NN;
    let source = ModelSource {
        device: "generated",
        driver: "",
        method: "seeded shapes split at random",
        space: None,
        score: None,
        kernels: (0..count).map(config).collect(),
        trees: vec![tree(&grown, 0)],
        classes: vec![TreeSource { class, measured_as: class, tree: 0 }],
    };
    Ok(source.encode()?)
}

/// A tree while it grows; branches are named by their place in a list.
enum Branch {
    Leaf { leaf: Leaf, shapes: Vec<GemmShape>, depth: usize, open: bool },
    Split { feature: Feature, threshold: u16, left: usize, right: usize },
}

impl Branch {
    fn new(shapes: Vec<GemmShape>, depth: usize, limit: usize) -> Self {
        Self::Leaf { leaf: Leaf::UNIVERSAL, shapes, depth, open: depth < limit }
    }

    /// Shapes of a leaf that may still be split.
    fn weight(&self) -> usize {
        match self {
            Self::Leaf { shapes, open: true, .. } => shapes.len(),
            _ => 0,
        }
    }
}

/// Split the leaf with the most shapes until there are `leaves`, or none can be split.
fn grow(leaves: usize, limit: usize, random: &mut impl Rng) -> Vec<Branch> {
    let mut grown = vec![Branch::new(distinct(leaves * SHAPES_A_LEAF, random), 0, limit)];
    for _ in 1..leaves {
        while let Some(place) = heaviest(&grown) {
            if split(&mut grown, place, limit, random) {
                break;
            }
        }
    }
    grown
}

/// The first of the leaves with the most shapes, at least two.
fn heaviest(grown: &[Branch]) -> Option<usize> {
    let (place, branch) = grown.iter().enumerate().rev().max_by_key(|(_, one)| one.weight())?;
    (branch.weight() > 1).then_some(place)
}

/// Split a leaf between two of its shapes; if no question parts them, close it and return false.
fn split(grown: &mut Vec<Branch>, place: usize, limit: usize, random: &mut impl Rng) -> bool {
    let right = grown.len() + 1;
    let Some(Branch::Leaf { shapes, depth, open, .. }) = grown.get_mut(place) else { return false };
    let start = below(FEATURES.len(), random);
    for feature in FEATURES.into_iter().cycle().skip(start).take(FEATURES.len()) {
        let threshold = threshold(feature, shapes, random);
        let (below, above): (Vec<_>, Vec<_>) =
            shapes.iter().partition(|shape| feature.of(**shape) <= threshold);
        if !below.is_empty() && !above.is_empty() {
            let depth = *depth + 1;
            grown.extend([below, above].map(|shapes| Branch::new(shapes, depth, limit)));
            if let Some(leaf) = grown.get_mut(place) {
                *leaf = Branch::Split { feature, threshold, left: right - 1, right };
            }
            return true;
        }
    }
    *open = false;
    false
}

/// What one of the shapes has, not one of the outermost tenths, so that paths differ in length.
fn threshold(feature: Feature, shapes: &[GemmShape], random: &mut impl Rng) -> u16 {
    let mut values: Vec<_> = shapes.iter().map(|shape| feature.of(*shape)).collect();
    values.sort_unstable();
    let edge = values.len() / 10;
    let place = edge + below(values.len() - 2 * edge, random);
    values.get(place).copied().unwrap_or(0)
}

/// A leaf that ranks kernel `first` of `count`, from 0, and two others where there are.
fn answer(first: u8, count: u8, samples: usize, random: &mut impl Rng) -> Leaf {
    let step = 1 + below(usize::from(count), random) as u8;
    let ids =
        [0, step, step.wrapping_mul(2)].map(|off| KernelId((first + off % count) % count + 1));
    let expected = Loss::from_byte(below(32, random) as u8);
    let worst = Loss::from_byte(32 + below(128, random) as u8);
    Leaf::new(&ids, expected, worst, Samples::new(samples as u32))
}

/// A configuration of the size that real ones have.
fn config(index: u8) -> PackedConfig {
    let parameters = [1 << (index % 4), 4, 1 << (index / 4 % 4), 8, u16::from(index)];
    PackedConfig { family: 1, parameters: parameters.into_iter().collect() }
}

fn tree(grown: &[Branch], place: usize) -> Tree {
    match grown.get(place) {
        Some(Branch::Split { feature, threshold, left, right }) => Tree::Split {
            feature: *feature,
            threshold: *threshold,
            left: Box::new(tree(grown, *left)),
            right: Box::new(tree(grown, *right)),
        },
        Some(Branch::Leaf { leaf, .. }) => Tree::Leaf(*leaf),
        None => Tree::Leaf(Leaf::UNIVERSAL),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use selector_core::{Model, Node};

    use super::*;
    use crate::shuffled;

    fn leaves(model: &Model<'_>) -> Vec<Leaf> {
        let nodes = (0..model.entries()).filter_map(|index| model.node(index));
        nodes
            .filter_map(|node| if let Node::Leaf(leaf) = node { Some(leaf) } else { None })
            .collect()
    }

    /// Longest and mean path of a stream of shapes.
    fn paths(model: &Model<'_>) -> (usize, f64) {
        let shapes = shuffled(1)();
        let lengths = shapes.iter().map(|shape| model.path(ProblemClass::F32_NN, *shape).count());
        let lengths: Vec<_> = lengths.collect();
        let sum: usize = lengths.iter().sum();
        (lengths.iter().copied().max().unwrap(), sum as f64 / lengths.len() as f64)
    }

    #[test]
    fn models_have_the_size_asked_for() {
        for (count, kernels, depth, longest) in
            [(1, 1, 0, 0..=0), (2, 3, 1, 1..=1), (40, 8, 8, 7..=8), (1200, 80, 19, 16..=19)]
        {
            let blob = generate(count, kernels, depth, 1).unwrap();
            let model = Model::parse(&blob).unwrap();
            assert_eq!(leaves(&model).len(), count);
            assert_eq!(model.kernels().len(), kernels);
            let (most, mean) = paths(&model);
            assert!(longest.contains(&most), "{count} leaves: {most} deep, {mean} on average");
        }
    }

    #[test]
    fn every_kernel_leads_some_leaf_and_every_leaf_ranks_what_there_is() {
        let blob = generate(1200, 80, 19, 1).unwrap();
        let leaves = leaves(&Model::parse(&blob).unwrap());
        let firsts: BTreeSet<_> = leaves.iter().map(|leaf| leaf.first().0).collect();
        assert_eq!(firsts, (1..=80).collect());
        assert!(leaves.iter().filter(|leaf| leaf.kernels().count() == 4).count() > 1000);
    }

    #[test]
    fn the_same_arguments_give_the_same_bytes_and_another_seed_others() {
        let model = |seed| generate(40, 8, 8, seed).unwrap();
        assert_eq!(model(1), model(1));
        assert_ne!(model(1), model(2));
    }

    /// Figures of different days compare only while these hold.
    #[test]
    fn the_measured_models_do_not_drift() {
        let checksum = |blob: &[u8]| u32::from_le_bytes(blob[12..16].try_into().unwrap());
        let [small, large] = Measured::ALL.map(|model| model.blob().unwrap());
        assert_eq!((small.len(), checksum(&small)), (602, 383_137_762));
        assert_eq!((large.len(), checksum(&large)), (15_026, 2_377_624_477));
    }

    #[test]
    fn what_is_out_of_reach_is_named() {
        assert_eq!(generate(2, 0, 8, 1), Err(GenerateError::Kernels(0)));
        assert_eq!(generate(2, 128, 8, 1), Err(GenerateError::Kernels(128)));
        assert_eq!(generate(2, 300, 8, 1), Err(GenerateError::Kernels(300)));
        let error = generate(9, 4, 3, 1).unwrap_err();
        assert!(matches!(error, GenerateError::Leaves { leaves: 9, depth: 3, most: 1..=8 }));
        assert!(matches!(generate(0, 4, 3, 1), Err(GenerateError::Leaves { leaves: 0, .. })));
        let deep = generate(70, 4, 69, 1).map(|blob| blob.len());
        assert!(deep.is_ok(), "{deep:?}");
    }
}
