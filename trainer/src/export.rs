//! From a kernel list and trees to the bytes of a model.

use kernels::Configuration;
use rayon::prelude::*;
use selector_core::{
    EncodeError, KernelId, Leaf, Loss, ModelSource, PackedConfig, ProblemClass, RANKED, Samples,
    Tree, TreeSource,
};

use crate::dataset::Dataset;
use crate::learn::{Grown, LearnError, Learner, Training};
use crate::random::Random;
use crate::scored::{self, Scored};
use crate::train::{self, ClassTree, Fitted, Method};

/// Why no model could be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The format cannot hold it.
    #[error("the model cannot be written: {0}")]
    Encode(EncodeError),
    /// A configuration that this build has no kernel for.
    #[error("the model cannot be written: `{name}` is no kernel of this build")]
    ForeignConfiguration {
        /// Its name in the data set.
        name: String,
    },
    /// The learner failed while its leaves were checked on held-out shapes.
    #[error(transparent)]
    Learn(#[from] LearnError),
}

/// The bytes of the model that `method` fitted to all of `dataset`.
///
/// Each leaf says what its first kernel is expected to lose, from a cross-validation in which every
/// shape is held out once, and the largest loss seen, held out or not.
///
/// # Errors
/// [`ExportError`]; a model is made whole or not at all.
pub fn encode(
    dataset: &Dataset,
    fitted: &Fitted,
    method: &Method<'_>,
    scored: Option<Scored>,
    device: &str,
) -> Result<Vec<u8>, ExportError> {
    let held_out = cross_validate(fitted, method, &|| {})?;
    encode_with(dataset, fitted, method, &held_out, scored, device)
}

/// What is lost on each shape of each class by trees that were grown without it.
pub struct HeldOut(Vec<Vec<f64>>);

/// Steps of [`cross_validate`], each of which it tells.
#[must_use]
pub fn folds(fitted: &Fitted) -> usize {
    fitted.trees.iter().map(|one| folds_of(&one.training)).sum()
}

/// Grow the trees of `fitted` again and again, each time without some of the shapes; `done` is
/// told after each.
///
/// # Errors
/// [`LearnError`], if the learner fails.
pub fn cross_validate(
    fitted: &Fitted,
    method: &Method<'_>,
    done: &(dyn Fn() + Sync),
) -> Result<HeldOut, LearnError> {
    let losses =
        |one: &ClassTree| held_out_losses(&one.training, method.learner, method.seed, done);
    fitted.trees.iter().map(losses).collect::<Result<_, _>>().map(HeldOut)
}

/// As [`encode`], with the cross-validation done before.
///
/// # Errors
/// [`ExportError`]; a model is made whole or not at all.
pub fn encode_with(
    dataset: &Dataset,
    fitted: &Fitted,
    method: &Method<'_>,
    held_out: &HeldOut,
    scored: Option<Scored>,
    device: &str,
) -> Result<Vec<u8>, ExportError> {
    let mut trees = Vec::new();
    for (ClassTree { training, tree, .. }, held_out) in fitted.trees.iter().zip(&held_out.0) {
        let rows: Vec<usize> = (0..training.shapes.len()).collect();
        trees.push(annotate(tree, training, held_out, &rows));
    }
    let driver = match dataset.header.driver.as_str() {
        "" => "unknown",
        driver => driver,
    };
    let on = scored.map(|one| scored::label(one.on)).unwrap_or_default();
    let method_text = describe(method) + &on;
    let source = ModelSource {
        device,
        driver,
        method: &method_text,
        space: dataset.header.space,
        score: scored.map(|one| one.score),
        kernels: packed(dataset, &fitted.kernels)?,
        trees,
        classes: classes(&fitted.trees),
    };
    source.encode().map_err(ExportError::Encode)
}

/// The method in a line, as models carry it before what they were scored on.
#[must_use]
pub fn describe(method: &Method<'_>) -> String {
    let Method { pruner, learner, kernels, seed, .. } = method;
    format!("{} {kernels}, {}, seed {seed}", pruner.name(), learner.name())
}

/// Whether a model can carry the kernels of `fitted`.
///
/// # Errors
/// [`ExportError::ForeignConfiguration`] names the first that is not of this build.
pub fn check(dataset: &Dataset, fitted: &Fitted) -> Result<(), ExportError> {
    packed(dataset, &fitted.kernels).map(|_| ())
}

fn packed(dataset: &Dataset, kernels: &[usize]) -> Result<Vec<PackedConfig>, ExportError> {
    let pack = |column: &usize| {
        let name = &dataset.configurations()[*column];
        let configuration = name.parse::<Configuration>();
        let foreign = |_| ExportError::ForeignConfiguration { name: name.clone() };
        configuration.map(|one| one.packed()).map_err(foreign)
    };
    kernels.iter().map(pack).collect()
}

/// Every class that some tree can serve.
fn classes(trees: &[ClassTree]) -> Vec<TreeSource> {
    let measured: Vec<ProblemClass> = trees.iter().map(|tree| tree.class).collect();
    let source = |class| {
        let measured_as = train::measured_as(class, &measured)?;
        let tree = measured.iter().position(|one| *one == measured_as)?;
        Some(TreeSource { class, measured_as, tree })
    };
    ProblemClass::all().filter_map(source).collect()
}

const FOLDS: usize = 5;

/// Trees grown to check those of `training`.
fn folds_of(training: &Training) -> usize {
    let count = training.shapes.len();
    if count < 2 { 0 } else { FOLDS.min(count) }
}

/// What is lost on each shape by a tree that was grown without it; what the only shape loses is
/// unknown.
fn held_out_losses(
    training: &Training,
    learner: &dyn Learner,
    seed: u64,
    done: &(dyn Fn() + Sync),
) -> Result<Vec<f64>, LearnError> {
    let (count, folds) = (training.shapes.len(), folds_of(training));
    let mut losses = vec![f64::NAN; count];
    if folds == 0 {
        return Ok(losses);
    }
    let mut fold_of: Vec<usize> = (0..count).map(|row| row % folds).collect();
    Random::new(seed).shuffle(&mut fold_of);
    let losses_of = |fold: usize| {
        let (held_out, rest): (Vec<usize>, Vec<usize>) =
            (0..count).partition(|row| fold_of[*row] == fold);
        let tree = learner.grow(&training.select(&rest), seed)?;
        done();
        let loss = |row: usize| {
            let first = tree.rank(training.shapes[row]).first().copied().unwrap_or(0);
            (row, training.loss[(row, first)])
        };
        Ok(held_out.into_iter().map(loss).collect())
    };
    let folds = (0..folds).into_par_iter().map(losses_of);
    for fold in folds.collect::<Result<Vec<Vec<_>>, LearnError>>()? {
        for (row, loss) in fold {
            losses[row] = loss;
        }
    }
    Ok(losses)
}

/// The tree as a model holds it, with what is known of each leaf.
fn annotate(tree: &Grown, training: &Training, held_out: &[f64], rows: &[usize]) -> Tree {
    match tree {
        Grown::Split { feature, threshold, left, right } => {
            let goes_left = |row: &&usize| feature.of(training.shapes[**row]) <= *threshold;
            let (below, above): (Vec<_>, Vec<_>) = rows.iter().partition(goes_left);
            Tree::Split {
                feature: *feature,
                threshold: *threshold,
                left: Box::new(annotate(left, training, held_out, &below)),
                right: Box::new(annotate(right, training, held_out, &above)),
            }
        }
        Grown::Leaf(ranking) => Tree::Leaf(leaf(ranking, training, held_out, rows)),
    }
}

fn leaf(ranking: &[usize], training: &Training, held_out: &[f64], rows: &[usize]) -> Leaf {
    let first = ranking.first().copied().unwrap_or(0);
    let seen = rows.iter().map(|row| training.loss[(*row, first)]);
    let known = rows.iter().map(|row| held_out[*row]).filter(|loss| !loss.is_nan());
    let count = known.clone().count();
    // Without shapes of its own nothing is known of a leaf: 0 / 0 is NaN, the unknown loss.
    let expected = match count {
        0 => seen.clone().sum::<f64>() / rows.len() as f64,
        _ => known.clone().sum::<f64>() / count as f64,
    };
    let worst = seen.chain(known).fold(f64::NAN, f64::max);
    // Kernel 0 is the universal one.
    let kernels = ranking.iter().take(RANKED).map(|place| KernelId(*place as u8 + 1));
    let kernels: Vec<KernelId> = kernels.collect();
    let samples = Samples::new(u32::try_from(rows.len()).unwrap_or(u32::MAX));
    Leaf::new(&kernels, Loss::from_log2(expected), Loss::from_log2(worst), samples)
}

#[cfg(test)]
mod tests {
    use ndarray::array;
    use selector_core::GemmShape;

    use super::*;
    use crate::learn;

    fn training() -> Training {
        let shapes = (1..=4).map(|m| GemmShape::new(m, 1, 1, 1)).collect();
        let loss = array![[0.0, 1.0], [0.5, 0.0], [0.0, 2.0], [0.0, 1.0]];
        let kernels = vec![None; loss.ncols()];
        Training { shapes, loss, best_ns: vec![1e6; 4], kernels }
    }

    #[test]
    fn a_leaf_says_what_its_first_kernel_loses_where_it_was_not_trained_on() {
        let held_out = [0.25, 0.75, f64::NAN, 3.0];
        let leaf = leaf(&[0, 1], &training(), &held_out, &[0, 1, 2]);
        assert_eq!(leaf.expected.log2(), Some(0.5));
        assert_eq!(leaf.worst.log2(), Some(0.75));
        assert_eq!(leaf.samples, Samples::new(3));
        assert_eq!(leaf.kernels().map(|id| id.0).collect::<Vec<_>>(), [1, 2, 0]);
    }

    #[test]
    fn classes_of_one_element_type_and_two_precisions_have_their_own_trees() {
        // Where the second configuration multiplies in 16 bits, it is the faster one.
        let mut text = "m,k,n,batch,class,configuration,time_ns\n".to_owned();
        for m in [8, 64, 512] {
            for (class, times) in [("f16-nn", [100, 150]), ("f16h-nt", [100, 60])] {
                text += &format!("{m},64,64,1,{class},tile:1x1x1@8x8,{}\n", times[0]);
                text += &format!("{m},64,64,1,{class},tile:4x4x4@8x8,{}\n", times[1]);
            }
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let dataset = Dataset::open(file.path()).unwrap();
        let method = Method {
            pruner: crate::prune::by_name("greedy").unwrap(),
            learner: learn::by_name("single-best").unwrap(),
            kernels: 2,
            normalisation: crate::normalise::Normalisation::Scaled,
            seed: 0,
        };
        let all: Vec<usize> = (0..dataset.tasks().len()).collect();
        let fitted = train::fit(&dataset, &all, &method).unwrap();
        let blob = encode(&dataset, &fitted, &method, None, "d").unwrap();
        let model = selector_core::Model::parse(&blob).unwrap();
        let first = |class: &str| {
            let leaf = model.select(class.parse().unwrap(), GemmShape::new(64, 64, 64, 1));
            let packed = model.kernel(leaf.first()).unwrap();
            Configuration::from_packed(&packed).unwrap().to_string()
        };
        assert_eq!(
            (first("f16-nn"), first("f16h-nt")),
            ("tile:1x1x1@8x8".to_owned(), "tile:4x4x4@8x8".to_owned())
        );
        for class in ProblemClass::all() {
            let text = class.to_string();
            let expected = match text.split_once('-') {
                Some(("f16", _)) => "f16-nn".parse().ok(),
                Some(("f16h", _)) => "f16h-nt".parse().ok(),
                _ => None,
            };
            assert_eq!(model.measured_as(class), expected, "{class}");
        }
    }

    #[test]
    fn a_leaf_without_shapes_knows_nothing() {
        let leaf = leaf(&[1], &training(), &[0.0; 4], &[]);
        assert_eq!(
            (leaf.expected, leaf.worst, leaf.samples),
            (Loss::UNKNOWN, Loss::UNKNOWN, Samples::NONE)
        );
    }

    #[test]
    fn every_shape_is_held_out_once_and_an_only_one_never() {
        let single_best = learn::by_name("single-best").unwrap();
        let losses = held_out_losses(&training(), single_best, 0, &|| {}).unwrap();
        assert_eq!(losses, [0.0, 0.5, 0.0, 0.0]);
        let only = held_out_losses(&training().select(&[1]), single_best, 0, &|| {}).unwrap();
        assert!(only.len() == 1 && only[0].is_nan());
    }
}
