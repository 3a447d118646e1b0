//! Where the model is written, and when it is not.

use std::path::Path;

use anyhow::{Context, anyhow, bail};
use selector_core::{Model, ModelError, Score};
use trainer::file;
use trainer::score::{self, SplitScore};
use trainer::scored;
use trainer::train::Method;

use super::report::percent;
use crate::failure::{Unexpected, hinted};
use crate::output::{Output, counted};

/// Where the model is to be written.
pub(super) struct Target<'a> {
    path: &'a Path,
    old: Old,
    /// Whether what stands there goes, whatever it is.
    force: bool,
}

/// What stands there.
enum Old {
    Model {
        score: Option<Score>,
        device: String,
        method: String,
    },
    Nothing,
    /// Something else, which is to be replaced.
    Other,
}

impl<'a> Target<'a> {
    /// Refuse what cannot be written before the time is spent.
    ///
    /// # Errors
    /// The learner is not shipped, the path is not writable, or something stands there that is no
    /// model, without `force`.
    pub(super) fn check(path: &'a Path, method: &Method<'_>, force: bool) -> anyhow::Result<Self> {
        if !method.learner.repeatable() {
            let (name, about) = (method.learner.name(), method.learner.about());
            let refused = anyhow!("learner `{name}` is compared, never shipped: {about}");
            return Err(hinted(refused, "leave out `-o`, or choose another learner"));
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            bail!("could not write `{}`: no folder `{}`", path.display(), folder.display());
        }
        Ok(Self { path, old: Old::at(path, force)?, force })
    }

    /// Replace what stands there, never silently, and never by something worse without force;
    /// `loses` is what [`loses`] says.
    ///
    /// # Errors
    /// The new model is not worth it, or it cannot be written.
    pub(super) fn write(
        &self,
        blob: &[u8],
        loses: Option<&str>,
        out: &Output,
    ) -> anyhow::Result<()> {
        match loses {
            Some(loses) if self.force => out.warn(loses),
            Some(loses) => return Err(refused(loses)),
            None => {}
        }
        let model = Model::parse(blob).map_err(|error| Unexpected(error.to_string()))?;
        let shown = self.path.display();
        if let Some(refusal) = self.refusal(&model, out).filter(|_| !self.force) {
            let refused = anyhow!("{refusal}; nothing was written");
            return Err(hinted(refused, "`--force` replaces it"));
        }
        file::write_atomically(self.path, blob)
            .with_context(|| format!("could not write `{shown}`"))?;
        out.note(format_args!("wrote {} to `{shown}`", counted(blob.len(), "byte")));
        Ok(())
    }

    /// Tell how `model` compares with the one that stands there, and why it should not replace it.
    fn refusal(&self, model: &Model<'_>, out: &Output) -> Option<String> {
        let Old::Model { score, device, method } = &self.old else { return None };
        let shown = self.path.display();
        let on = scored::read(method);
        let same = on.is_some() && on == scored::read(model.method());
        out.note(format_args!(
            "`{shown}`: share of optimal {} -> {}{}; the old one by `{method}`",
            percent(score.map(Score::share)),
            percent(model.score().map(Score::share)),
            if same { ", on the same data and splits" } else { INCOMPARABLE }
        ));
        if device != model.device() {
            Some(format!("`{shown}` is a model for `{device}`, not for `{}`", model.device()))
        } else if same && *score > model.score() {
            Some(format!("the model in `{shown}` has the better score"))
        } else {
            None
        }
    }
}

/// What is told of scores on different data or splits, which do not decide what is written.
const INCOMPARABLE: &str =
    ", which do not compare: the old one was scored on other data or splits, or does not say";

fn refused(loses: &str) -> anyhow::Error {
    hinted(
        anyhow!("{loses}; nothing was written"),
        format_args!(
            "measure more shapes; `--learner {SINGLE_BEST}` ships that one, `--force` the tree"
        ),
    )
}

impl Old {
    fn at(path: &Path, force: bool) -> anyhow::Result<Self> {
        let shown = path.display();
        let there = file::existing(path).with_context(|| format!("could not write `{shown}`"))?;
        let Some(blob) = there else { return Ok(Self::Nothing) };
        let what = match Model::parse(&blob) {
            Ok(model) => {
                let [device, method] = [model.device(), model.method()].map(str::to_owned);
                return Ok(Self::Model { score: model.score(), device, method });
            }
            Err(_) if force => return Ok(Self::Other),
            Err(ModelError::Version { found: (major, minor), .. }) => {
                format!("is a model of format {major}.{minor}, whose score this build cannot read")
            }
            Err(_) => "exists and is not a model".to_owned(),
        };
        Err(hinted(anyhow!("`{shown}` {what}; nothing was written"), "`--force` replaces it"))
    }
}

/// What to say of a tree that picks worse, on held-out shapes, than the one best configuration
/// would.
pub(super) fn loses(scores: &[SplitScore], method: &Method<'_>) -> Option<String> {
    let [share, one_best] =
        [score::mean(scores, |one| one.share), score::mean(scores, |one| one.one_best)];
    let (share, one_best) = (share?, one_best?);
    if share >= one_best || method.learner.name() == SINGLE_BEST {
        return None;
    }
    Some(format!(
        "on held-out shapes the tree picks worse than the one best configuration: {} against {}",
        percent(Some(share)),
        percent(Some(one_best))
    ))
}

/// The learner that ships one kernel for all shapes.
const SINGLE_BEST: &str = "single-best";

#[cfg(test)]
mod tests {
    use trainer::normalise::Normalisation;
    use trainer::{learn, prune};

    use super::*;

    fn scored(share: f64, one_best: f64) -> SplitScore {
        SplitScore {
            split: "seed0".to_owned(),
            tasks: 49,
            share,
            ceiling: 1.0,
            one_best,
            fifth_percentile: 0.5,
            worst: 0.4,
            dtpr: share,
            dttr: 1.0,
            leaves: 1,
            unmeasured: 0,
        }
    }

    #[test]
    fn a_tree_that_loses_to_one_kernel_is_told() {
        let method = |learner: &str| Method {
            pruner: prune::ALL[0],
            learner: learn::by_name(learner).unwrap(),
            kernels: 8,
            normalisation: Normalisation::default(),
            seed: 0,
        };
        let told = [scored(0.9, 0.95), scored(0.91, 0.9)];
        let said = loses(&told, &method("distilled")).unwrap();
        assert!(said.contains("90.50 % against 92.50 %"), "{said}");
        assert_eq!(loses(&told, &method("single-best")), None);
        assert_eq!(loses(&[scored(0.9, 0.9)], &method("distilled")), None);
        assert_eq!(loses(&[], &method("distilled")), None);
    }

    #[test]
    fn a_tree_that_loses_is_written_only_if_forced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.gtm");
        let out = Output::plain();
        let write = |force, loses| {
            Target { path: &path, old: Old::Nothing, force }.write(b"no model", loses, &out)
        };
        let said = write(false, Some("it loses")).unwrap_err().to_string();
        assert_eq!(said, "it loses; nothing was written");
        // Past that, it is looked at as a model.
        assert!(write(true, Some("it loses")).unwrap_err().is::<Unexpected>());
        assert!(write(false, None).unwrap_err().is::<Unexpected>());
    }
}
