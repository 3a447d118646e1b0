//! Arbitrary sources: `encode` refuses what no model can hold, and `parse` reads back the rest.
#![no_main]

use libfuzzer_sys::arbitrary::{Result, Unstructured};
use libfuzzer_sys::{Corpus, fuzz_target};
use selector_core::{
    Feature, KernelId, Leaf, Loss, MAX_DEPTH, MAX_FEATURES, MAX_KERNELS, Model, ModelSource, Node,
    PackedConfig, ProblemClass, Samples, Score, Tree, TreeSource,
};
use selector_core_fuzz::{Questions, check_answers, check_model, plain_select};

fuzz_target!(|data: &[u8]| -> Corpus {
    let Some((data, questions)) = Questions::split(data) else { return Corpus::Reject };
    let mut input = Unstructured::new(data);
    let Ok(source) = source(&mut input) else { return Corpus::Reject };
    let blob = source.encode();
    assert_eq!(blob.is_ok(), is_valid(&source), "{:?}: {source:?}", blob.err());
    let Ok(blob) = blob else { return Corpus::Keep };
    assert_eq!(source.encode().as_ref(), Ok(&blob));
    let model = Model::parse(&blob).expect("what was written is read");
    check_model(&model);
    check_same(&model, &source);
    check_answers(&model, &questions);
    for class in &source.classes {
        for shape in questions.shapes {
            let expected = plain_select(&source.trees[class.tree], shape);
            assert_eq!(model.select(class.class, shape), expected);
        }
    }
    Corpus::Keep
});

/// A source, mostly a valid one.
fn source<'a>(input: &mut Unstructured<'a>) -> Result<ModelSource<'a>> {
    let careless = input.ratio(1, 8)?;
    let kernels = usize::from(input.arbitrary::<u8>()? >> 1) + usize::from(careless);
    let mut features = vec![Feature::M];
    for _feature in 0..input.int_in_range(0..=MAX_FEATURES)? {
        features.push(*input.choose(&Feature::ALL)?);
    }
    features.truncate(MAX_FEATURES + usize::from(careless));
    let grower = Grower { careless, kernels: kernels as u8, features };
    let mut trees = vec![];
    for _tree in 0..input.int_in_range(0..=3)? {
        trees.push(grower.tree(input, MAX_DEPTH + usize::from(careless))?);
    }
    Ok(ModelSource {
        classes: classes(input, trees.len(), careless)?,
        trees,
        kernels: (0..kernels).map(|_| config(input)).collect::<Result<_>>()?,
        device: input.arbitrary()?,
        driver: input.arbitrary()?,
        method: input.arbitrary()?,
        space: input.arbitrary()?,
        score: input.arbitrary::<Option<u16>>()?.map(|score| match careless {
            true => Score(score),
            false => Score(score).min(Score::PERFECT),
        }),
    })
}

fn config(input: &mut Unstructured<'_>) -> Result<PackedConfig> {
    let family = input.arbitrary()?;
    let parameters = (0..input.int_in_range(0..=16)?).map(|_| input.arbitrary());
    Ok(PackedConfig { family, parameters: parameters.collect::<Result<_>>()? })
}

/// Each tree serves a class, and some serve more.
fn classes(input: &mut Unstructured<'_>, trees: usize, careless: bool) -> Result<Vec<TreeSource>> {
    let mut classes = vec![];
    for (index, class) in ProblemClass::all().enumerate() {
        let guest = index >= trees;
        if trees == 0 || guest && !input.arbitrary::<bool>()? {
            continue;
        }
        let tree = if guest { input.int_in_range(0..=trees - 1)? } else { index };
        let measured_as = *input.choose(&ProblemClass::all().collect::<Vec<_>>())?;
        classes.push(TreeSource { class, measured_as, tree });
    }
    if careless {
        for one in &mut classes {
            if input.ratio(1, 8)? {
                one.tree = input.int_in_range(0..=trees)?;
                one.class = one.measured_as;
            }
        }
    }
    Ok(classes)
}

struct Grower {
    /// Whether thresholds and kernels may be beyond their limits.
    careless: bool,
    kernels: u8,
    features: Vec<Feature>,
}

impl Grower {
    fn tree(&self, input: &mut Unstructured<'_>, depth: usize) -> Result<Tree> {
        if depth == 0 || input.is_empty() || !input.ratio(5, 8)? {
            return self.leaf(input).map(Tree::Leaf);
        }
        let feature = *input.choose(&self.features)?;
        let threshold: u16 = input.arbitrary()?;
        Ok(Tree::Split {
            feature,
            threshold: if self.careless { threshold } else { threshold % feature.largest() },
            left: Box::new(self.tree(input, depth - 1)?),
            right: Box::new(self.tree(input, depth - 1)?),
        })
    }

    fn leaf(&self, input: &mut Unstructured<'_>) -> Result<Leaf> {
        let [ids @ .., expected, worst, samples] = input.arbitrary::<[u8; 7]>()?;
        let ids = ids.map(|id| {
            let inside = self.careless || id <= self.kernels;
            KernelId(if inside { id } else { id % (self.kernels + 1) })
        });
        let [expected, worst] = [expected, worst].map(Loss::from_byte);
        Ok(Leaf::new(&ids, expected, worst, Samples::from_byte(samples)))
    }
}

/// Whether a model can hold all of `source`.
fn is_valid(source: &ModelSource<'_>) -> bool {
    let mut features = vec![];
    let nodes_fit = source.trees.iter().all(|tree| fits(tree, source.kernels.len(), &mut features));
    features.sort_unstable();
    features.dedup();
    let classes = &source.classes;
    let twice = (1..classes.len())
        .any(|one| classes[..one].iter().any(|before| before.class == classes[one].class));
    let served = (0..source.trees.len()).all(|tree| classes.iter().any(|one| one.tree == tree));
    nodes_fit
        && source.kernels.len() <= MAX_KERNELS
        && features.len() <= MAX_FEATURES
        && source.trees.iter().all(|tree| tree.depth() <= MAX_DEPTH)
        && source.score.is_none_or(|score| score <= Score::PERFECT)
        && classes.iter().all(|one| one.tree < source.trees.len())
        && served
        && !twice
}

/// Whether thresholds and kernels keep their limits; notes the features asked for.
fn fits(tree: &Tree, kernels: usize, features: &mut Vec<Feature>) -> bool {
    match tree {
        Tree::Leaf(leaf) => leaf.kernels().all(|id| usize::from(id.0) <= kernels),
        Tree::Split { feature, threshold, left, right } => {
            features.push(*feature);
            let [left, right] = [left, right].map(|branch| fits(branch, kernels, features));
            *threshold < feature.largest() && left && right
        }
    }
}

fn check_same(model: &Model<'_>, source: &ModelSource<'_>) {
    let names = (source.device, source.driver, source.method);
    assert_eq!((model.device(), model.driver(), model.method()), names);
    assert_eq!((model.space(), model.score()), (source.space, source.score));
    assert!(model.kernels().eq(source.kernels.iter().cloned()));
    for class in ProblemClass::all() {
        let head = source.classes.iter().find(|one| one.class == class);
        assert_eq!(model.measured_as(class), head.map(|one| one.measured_as));
        let tree = model.root(class).map(|root| rebuilt(model, root));
        assert_eq!(tree.as_ref(), head.map(|one| &source.trees[one.tree]));
    }
}

/// The tree of a model that begins at `index`.
fn rebuilt(model: &Model<'_>, index: usize) -> Tree {
    match model.node(index).expect("every entry that is reached is there") {
        Node::Leaf(leaf) => Tree::Leaf(leaf),
        Node::Split { feature, threshold, right } => Tree::Split {
            feature,
            threshold,
            left: Box::new(rebuilt(model, index + 1)),
            right: Box::new(rebuilt(model, right.into())),
        },
    }
}
