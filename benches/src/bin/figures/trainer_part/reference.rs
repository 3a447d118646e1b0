//! What other programs found on the H200 data: `trainer/data/reference-h200.txt`.

use std::fs;

use anyhow::{Context, bail, ensure};

/// The file.
pub(super) const FILE: &str = "trainer/data/reference-h200.txt";

/// Its numbers, under the names that the study gives to the same things; shares in per cent.
#[derive(Debug, Default)]
pub(super) struct Reference {
    /// Components for 80, 90 and 95 % of the variance.
    pub components: Vec<f64>,
    /// Configurations that win a task.
    pub winners: f64,
    /// Top-n's ceilings by the tie rule: kernels, and one ceiling a split.
    pub top_n: Vec<(String, Vec<f64>)>,
    /// Ceilings, means over the splits.
    pub pruning: Vec<Pruned>,
    /// Shares with classifiers, means over the splits.
    pub classifiers: Vec<Classified>,
}

/// What the lists of a pruner reach.
#[derive(Debug, PartialEq)]
pub(super) struct Pruned {
    pub normalisation: &'static str,
    pub pruner: &'static str,
    pub kernels: String,
    pub mean: f64,
}

/// What a classifier reaches.
#[derive(Debug, PartialEq)]
pub(super) struct Classified {
    /// The pruner whose list it picks from.
    pub list: &'static str,
    pub features: String,
    pub kernels: String,
    pub classifier: &'static str,
    pub mean: f64,
}

/// Names in the file and in the study.
const NORMALISATIONS: [(&str, &str); 4] = [
    ("scale", "scaled"),
    ("rawcutoff", "raw-cutoff"),
    ("cutoff", "cutoff"),
    ("sigmoid", "sigmoid"),
];
const PRUNERS: [(&str, &str); 6] = [
    ("TopN", "top-n"),
    ("KMeans", "k-means"),
    ("PCAKMeans", "pca-k-means"),
    ("Spectral", "spectral"),
    ("DecisionTree", "regression-tree"),
    ("Greedy(log)", "greedy"),
];
const LISTS: [(&str, &str); 2] = [("pcakmeans", "pca-k-means"), ("greedy", "greedy")];
const CLASSIFIERS: [(&str, &str); 10] = [
    ("DTreeA", "tree-a"),
    ("DTreeB", "tree-b"),
    ("DTreeC", "tree-c"),
    ("1NN", "1-nn"),
    ("3NN", "3-nn"),
    ("7NN", "7-nn"),
    ("LinSVM", "linear-svm"),
    ("RBF", "radial-svm"),
    ("RF", "random-forest"),
    ("MLP", "mlp"),
];
/// What stands before the classifiers: the ceiling and the one best.
const NO_CLASSIFIERS: [&str; 2] = ["max", "single"];

impl Reference {
    /// Read the file.
    ///
    /// # Errors
    /// A line is not as expected, or something is missing.
    pub(super) fn open() -> anyhow::Result<Self> {
        let text = fs::read_to_string(FILE).with_context(|| format!("could not read `{FILE}`"))?;
        Self::read(&text)
    }

    fn read(text: &str) -> anyhow::Result<Self> {
        let mut reference = Self::default();
        for (index, line) in text.lines().enumerate() {
            reference.line(line).with_context(|| format!("`{FILE}` line {}", index + 1))?;
        }
        let Self { components, top_n, pruning, classifiers, .. } = &reference;
        let lengths = [components.len(), top_n.len(), pruning.len(), classifiers.len()];
        ensure!(lengths.iter().all(|length| *length > 0), "`{FILE}` is not complete");
        Ok(reference)
    }

    fn line(&mut self, line: &str) -> anyhow::Result<()> {
        if let Some(comment) = line.strip_prefix('#') {
            let top_n = comment.split(';').map(str::trim).filter_map(|one| one.strip_prefix("n="));
            for one in top_n {
                self.top_n.push(by_split(one)?);
            }
            return Ok(());
        }
        let (head, rest) = line.split_once(' ').context("no words")?;
        if head == "shapes" {
            return self.counts(rest);
        }
        match (known(&NORMALISATIONS, head), known(&LISTS, head)) {
            (Ok(normalisation), _) => self.pruned(normalisation, rest),
            (_, Ok(list)) => self.classified(list, rest),
            _ => bail!("`{head}` is unknown"),
        }
    }

    /// `245 PCA 80/90/95%: [3, 6, 11] winners 61`
    fn counts(&mut self, text: &str) -> anyhow::Result<()> {
        let (_, text) = text.split_once('[').context("no components")?;
        let (components, winners) = text.split_once("] winners ").context("no winners")?;
        self.components = components.split(", ").map(number).collect::<Result<_, _>>()?;
        self.winners = number(winners)?;
        Ok(())
    }

    /// `4 TopN 90.89 (mean 90.46) | KMeans …`
    fn pruned(&mut self, normalisation: &'static str, text: &str) -> anyhow::Result<()> {
        let (kernels, text) = text.split_once(' ').context("no pruners")?;
        for one in text.split(" | ") {
            let words: Vec<&str> = one.split(' ').collect();
            let [name, _, "(mean", mean] = words[..] else { bail!("`{one}` has no mean") };
            let pruner = known(&PRUNERS, name)?;
            let mean = number(mean.trim_end_matches(')'))?;
            let kernels = kernels.to_owned();
            self.pruning.push(Pruned { normalisation, pruner, kernels, mean });
        }
        Ok(())
    }

    /// `raw 5 max 94.85(93.28) single 69.67(66.90) DTreeA …`
    fn classified(&mut self, list: &'static str, text: &str) -> anyhow::Result<()> {
        let words: Vec<&str> = text.split(' ').collect();
        let [features, kernels, pairs @ ..] = &words[..] else { bail!("no classifiers") };
        for pair in pairs.chunks(2) {
            let [name, value] = pair else { bail!("`{pair:?}` has no value") };
            let (_, mean) = value.split_once('(').with_context(|| format!("`{value}`: no mean"))?;
            let mean = number(mean.trim_end_matches(')'))?;
            if NO_CLASSIFIERS.contains(name) {
                continue;
            }
            let classifier = known(&CLASSIFIERS, name)?;
            let [features, kernels] = [features, kernels].map(|one| (*one).to_owned());
            self.classifiers.push(Classified { list, features, kernels, classifier, mean });
        }
        Ok(())
    }

    /// What a classifier reaches, mean over the splits.
    ///
    /// # Errors
    /// It is not in the file.
    pub(super) fn classifier(
        &self,
        list: &str,
        features: &str,
        kernels: &str,
        classifier: &str,
    ) -> anyhow::Result<f64> {
        let asked = |one: &&Classified| {
            [one.list, &one.features, &one.kernels, one.classifier]
                == [list, features, kernels, classifier]
        };
        let one = self.classifiers.iter().find(asked);
        one.map(|one| one.mean).with_context(|| {
            format!("`{FILE}` has no {classifier}, {features}, on {kernels} kernels of {list}")
        })
    }

    /// The best of all classifiers on a pruner's list, with whatever features.
    ///
    /// # Errors
    /// There is none with so many kernels.
    pub(super) fn best_classifier(&self, list: &str, kernels: &str) -> anyhow::Result<f64> {
        let here = self.classifiers.iter().filter(|one| one.list == list && one.kernels == kernels);
        let best = here.map(|one| one.mean).max_by(f64::total_cmp);
        best.with_context(|| format!("`{FILE}` has no classifier on {kernels} kernels of {list}"))
    }
}

/// `4: 84.14 89.44 92.29 94.65 87.13, mean 89.53`, perhaps with the names of the splits in brackets
fn by_split(text: &str) -> anyhow::Result<(String, Vec<f64>)> {
    let (kernels, text) = text.split_once(": ").context("no ceilings")?;
    let (ceilings, _) = text.split_once(['(', ',']).context("no mean")?;
    let ceilings = ceilings.trim().split(' ').map(number).collect::<Result<_, _>>()?;
    Ok((kernels.to_owned(), ceilings))
}

fn known(names: &[(&str, &'static str)], name: &str) -> anyhow::Result<&'static str> {
    let known = names.iter().find(|(theirs, _)| *theirs == name);
    known.map(|(_, ours)| *ours).with_context(|| format!("`{name}` is unknown"))
}

fn number(text: &str) -> anyhow::Result<f64> {
    text.parse().with_context(|| format!("`{text}` is no number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../trainer/data/reference-h200.txt"));

    #[test]
    fn every_number_of_the_file_is_read() {
        let reference = Reference::read(TEXT).unwrap();
        assert_eq!((&reference.components[..], reference.winners), (&[3.0, 6.0, 11.0][..], 61.0));
        let counts: Vec<&str> = reference.top_n.iter().map(|one| &one.0[..]).collect();
        assert_eq!(counts, ["4", "6", "8", "15"]);
        assert_eq!(reference.top_n[2].1, [95.55, 95.21, 96.75, 95.63, 92.60]);
        assert_eq!(reference.pruning.len(), NORMALISATIONS.len() * PRUNERS.len() * 4);
        let expected = Pruned {
            normalisation: "raw-cutoff",
            pruner: "pca-k-means",
            kernels: "15".to_owned(),
            mean: 97.83,
        };
        assert!(reference.pruning.contains(&expected));
        assert_eq!(reference.classifiers.len(), LISTS.len() * 2 * CLASSIFIERS.len() * 4);
        let expected = Classified {
            list: "greedy",
            features: "aug".to_owned(),
            kernels: "15".to_owned(),
            classifier: "mlp",
            mean: 37.41,
        };
        assert!(reference.classifiers.contains(&expected));
        assert_eq!(reference.best_classifier("pca-k-means", "8").unwrap(), 92.33);
        assert!(reference.best_classifier("pca-k-means", "7").is_err());
    }

    #[test]
    fn damaged_files_are_refused_by_line() {
        for (old, new, expected) in [
            ("winners 61", "winners x", "line 16: `x` is no number"),
            ("DTreeA", "DTreeZ", "`DTreeZ` is unknown"),
            ("sigmoid 4", "sigma 4", "`sigma` is unknown"),
            ("(mean 90.46)", "", "has no mean"),
        ] {
            let error = Reference::read(&TEXT.replacen(old, new, 1)).unwrap_err();
            assert!(format!("{error:#}").contains(expected), "{error:#}");
        }
        assert!(Reference::read("").is_err());
    }
}
