//! Why a task loses time.

use std::fmt;

use selector_core::{KernelId, Model, Node, Step};
use serde::Serialize;

use super::numbers::TaskNumbers;
use super::question;
use super::text::{counted, time as shown};

/// Why a task loses time.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum Reason {
    /// The leaf was grown from few shapes.
    FewSamples {
        /// Training shapes that led to it.
        samples: u32,
    },
    /// The leaf's first kernel was not measured here.
    FirstNotMeasured {
        /// That kernel.
        chosen: u8,
    },
    /// The shapes of its leaf are served by one kernel, and this one would be better off with
    /// another.
    LeafIsMixed {
        /// Training shapes that led to the leaf, at least.
        samples: u32,
        /// The kernel of the list that is best here.
        better: u8,
        /// Its time in nanoseconds.
        better_ns: f64,
    },
    /// A split was narrowly decided, and the other side picks a better kernel.
    NarrowSplit {
        /// What goes left at the split.
        question: String,
        /// How far the shape is from the other side, in octaves.
        margin_octaves: f64,
        /// The kernel that the other side picks.
        other: u8,
        /// Its time in nanoseconds.
        other_ns: f64,
    },
    /// No kernel that the leaf ranks was measured.
    NotMeasured,
    /// The better configuration is not in the list.
    NotInList {
        /// It.
        better: String,
        /// Its time in nanoseconds.
        better_ns: f64,
        /// The best that the list can do, in nanoseconds.
        list_best_ns: f64,
    },
}

/// Most training shapes that are few.
const FEW: u32 = 3;
/// Largest margin that is narrow, in eighths of an octave.
const NARROW: u16 = 8;

/// Why the task loses, the main reason first. `time` is what a kernel takes, if it was measured.
pub(super) fn of(
    model: &Model<'_>,
    task: &TaskNumbers,
    time: impl Fn(u8) -> Option<f64>,
) -> Vec<Reason> {
    let (Some(taken), Some(list_best), Some(better_ns)) =
        (task.time_ns, task.list_best, task.list_best_ns)
    else {
        return vec![Reason::NotMeasured];
    };
    let mut reasons = Vec::new();
    if taken <= task.best_ns {
        return reasons;
    }
    if task.runs != Some(task.chosen) {
        reasons.push(Reason::FirstNotMeasured { chosen: task.chosen });
    }
    let missing = (better_ns > task.best_ns).then(|| Reason::NotInList {
        better: task.best.clone(),
        better_ns: task.best_ns,
        list_best_ns: better_ns,
    });
    // The larger half of the loss is told first.
    let list_is_to_blame = better_ns * better_ns >= taken * task.best_ns;
    if list_is_to_blame {
        reasons.extend(missing.clone());
    }
    if better_ns < taken {
        let samples = model.select(task.class, task.shape).samples.at_least();
        let narrow = narrow(model, task, taken, &time);
        let split = narrow.is_some();
        reasons.extend(narrow);
        if samples <= FEW {
            reasons.push(Reason::FewSamples { samples });
        } else if !split {
            reasons.push(Reason::LeafIsMixed { samples, better: list_best, better_ns });
        }
    }
    if !list_is_to_blame {
        reasons.extend(missing);
    }
    reasons
}

/// The most narrowly decided split whose other side picks a kernel that takes less than `taken`.
fn narrow(
    model: &Model<'_>,
    task: &TaskNumbers,
    taken: f64,
    time: impl Fn(u8) -> Option<f64>,
) -> Option<Reason> {
    let mut steps: Vec<Step> = model.path(task.class, task.shape).collect();
    steps.sort_by_key(|step| step.margin());
    let narrow = steps.into_iter().take_while(|step| step.margin() <= NARROW);
    narrow.into_iter().find_map(|step| {
        let other = beyond(model, step, task)?;
        let other_ns = time(other.0).filter(|time| *time < taken)?;
        Some(Reason::NarrowSplit {
            question: question::below(step.feature, step.threshold),
            margin_octaves: f64::from(step.margin()) / 8.0,
            other: other.0,
            other_ns,
        })
    })
}

/// What the tree answers if the split of `step` is answered the other way.
fn beyond(model: &Model<'_>, step: Step, task: &TaskNumbers) -> Option<KernelId> {
    let right = |index| match model.node(index)? {
        Node::Split { right, .. } => Some(usize::from(right)),
        Node::Leaf(_) => None,
    };
    let mut index = if step.left { right(step.index)? } else { step.index + 1 };
    // Children always come later, so this ends.
    loop {
        match model.node(index)? {
            Node::Leaf(leaf) => return Some(leaf.first()),
            Node::Split { feature, threshold, right } => {
                let left = feature.of(task.shape) <= threshold;
                index = if left { index + 1 } else { usize::from(right) };
            }
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FewSamples { samples: 0 } => {
                write!(f, "few samples: no training shape led to its leaf")
            }
            Self::FewSamples { samples } => {
                let shapes = counted(*samples as usize, "training shape");
                write!(f, "few samples: its leaf was grown from {shapes}")
            }
            Self::FirstNotMeasured { chosen } => {
                write!(
                    f,
                    "kernel {chosen}, the leaf's first, was not measured here; the next one counts"
                )
            }
            Self::LeafIsMixed { samples, better, better_ns } => write!(
                f,
                "a mixed leaf: kernel {better} would take {}, but {samples} or more shapes share \
                 this leaf's choice",
                shown(*better_ns)
            ),
            Self::NarrowSplit { question, margin_octaves, other, other_ns } => write!(
                f,
                "narrowly decided: {margin_octaves:.2} octaves from the other side of {question}, \
                 where kernel {other} takes {}",
                shown(*other_ns)
            ),
            Self::NotMeasured => write!(f, "no kernel that its leaf ranks was measured here"),
            Self::NotInList { better, better_ns, list_best_ns } => write!(
                f,
                "not in the list: {better} takes {}, the best of the list {}",
                shown(*better_ns),
                shown(*list_best_ns)
            ),
        }
    }
}
