//! What the words of the page mean.

use crate::report::text::Text;

/// Of the section, for links to it.
pub(super) const ID: &str = "words";

/// Words with what they mean.
const WORDS: [(&str, &str); 14] = [
    ("task", "a shape (m, k, n, batch) of a problem class: C[m×n] = A[m×k]·B[k×n], batch times"),
    ("configuration", "a kernel with all its parameters and its work-group"),
    (
        "kernel list",
        "the few configurations that ship; a pruner chooses them, on tasks trained on alone",
    ),
    (
        "share of optimal",
        "the best time measured for a task over the time of the kernel that runs; of several tasks the geometric mean",
    ),
    (
        "ceiling",
        "the share of optimal if the best kernel of the list always ran; no way to choose among them gets above it",
    ),
    (
        "one configuration, one best",
        "the share of optimal of the one configuration that loses least on the tasks trained on",
    ),
    (
        "held out",
        "tasks that neither pruner nor learner has seen; a split parts them from the tasks trained on",
    ),
    (
        "DTPR",
        "the arithmetic mean, over held-out tasks, of the rate of the kernel picked over the best rate measured there",
    ),
    (
        "DTTR",
        "the same mean over the rate of the one configuration that is best near the shape at which libraries are tuned, 1024³, or 256³ for kernels that take operands as they are",
    ),
    (
        "H and L",
        "the largest depth of a tree, and the fewest shapes of a leaf: a count, or below 1 a part of the shapes trained on",
    ),
    (
        "accuracy",
        "the part of held-out tasks for which the very label was predicted, however little another one loses",
    ),
    (
        "distinct configurations",
        "different configurations among the leaves of a tree, or among the labels of all splits",
    ),
    (
        "raw and aug features",
        "what a classifier is told of a shape: m, k, n and batch, or products and ratios of them as well",
    ),
    (
        "normalisations",
        "how a pruner weighs the rate of a configuration over the best: scaled, as it is; cutoff, nothing up to 90 %, above that stretched to \
         0…1; raw-cutoff, nothing up to 90 %, above that as it is; sigmoid, a smooth step at 85 %",
    ),
];

/// A list of definitions.
pub(super) fn html() -> String {
    let entry = |(word, meaning): (&str, &str)| {
        format!("<dt>{}</dt><dd>{}</dd>\n", Text(word), Text(meaning))
    };
    let entries: String = WORDS.into_iter().map(entry).collect();
    format!("<section id=\"{ID}\">\n<h2>Words</h2>\n<dl>\n{entries}</dl>\n</section>\n")
}
