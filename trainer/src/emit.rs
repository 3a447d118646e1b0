//! A model as source code: nested ifs, as the second paper generates them, for programs that
//! rather compile a tree than load one. To add a language: write its file, then list it in
//! [`ALL`].

mod c99;
mod rust;

use std::collections::BTreeMap;

use selector_core::{Feature, KernelId, Leaf, Model, Node, PackedConfig, ProblemClass};

use crate::model_file;

/// A language that models are emitted in.
pub trait Language: Sync {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// The source of a model's trees, one whole file.
    fn source(&self, program: &Program<'_>) -> String;

    /// What declares it to others, for languages that need that.
    fn header(&self, _: &Program<'_>) -> Option<String> {
        None
    }
}

/// Every language.
pub const ALL: &[&dyn Language] = &[&c99::C99, &rust::Rust];

/// The language with this name.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static dyn Language> {
    ALL.iter().find(|one| one.name() == name).copied()
}

/// What begins the name of the tool in every emitted file.
pub const MADE_BY: &str = "Made by gemmtree";

/// What the emitted functions answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Answer {
    /// The id of the first kernel, a byte.
    First,
    /// The six bytes of the leaf (`selector-core/FORMAT.md` §6) in a 64-bit number, the first
    /// one lowest.
    Leaf,
}

/// A model on its way to source code.
pub struct Program<'a> {
    model: &'a Model<'a>,
    answer: Answer,
    prefix: &'a str,
    /// The classes that each tree serves, by the tree's root.
    trees: BTreeMap<usize, Vec<ProblemClass>>,
}

/// How a split is asked in source code.
enum Question {
    /// A dimension (0 to 3) is at most this.
    Dimension(usize, u32),
    /// A sum of keys, each with its sign, is at most this.
    Keys([i8; 4], i32),
}

/// Names of the dimensions and of their keys in emitted code.
const DIMENSIONS: [(&str, &str); 4] =
    [("m", "key_m"), ("k", "key_k"), ("n", "key_n"), ("batch", "key_batch")];

impl<'a> Program<'a> {
    /// What `answer` asks for of `model`; names of emitted functions begin with `prefix`.
    #[must_use]
    pub fn new(model: &'a Model<'a>, answer: Answer, prefix: &'a str) -> Self {
        let mut trees: BTreeMap<usize, Vec<ProblemClass>> = BTreeMap::new();
        for class in ProblemClass::all() {
            if let Some(root) = model.root(class) {
                trees.entry(root).or_default().push(class);
            }
        }
        Self { model, answer, prefix, trees }
    }

    /// Trees by number, with the classes that each serves and the text of its body.
    fn bodies(&self, syntax: &Syntax) -> Vec<(usize, &[ProblemClass], String)> {
        let trees = self.trees.iter().enumerate();
        let body = |root: &usize| self.body(*root, syntax);
        trees.map(|(number, (root, classes))| (number, &classes[..], body(root))).collect()
    }

    /// The ifs of a tree.
    fn body(&self, root: usize, syntax: &Syntax) -> String {
        let mut text = String::new();
        self.branch(root, 1, syntax, [false; 4], &mut text);
        text
    }

    /// Append what stands for the subtree at `index`; a model is at most 64 splits deep. A key is
    /// computed where the first question needs it, so that short ways stay short; `known` says
    /// which are.
    fn branch(
        &self,
        index: usize,
        depth: usize,
        syntax: &Syntax,
        mut known: [bool; 4],
        text: &mut String,
    ) {
        let indent = syntax.indent.repeat(depth);
        match self.model.node(index) {
            Some(Node::Split { feature, threshold, right }) => {
                let question = Question::of(feature, threshold);
                if let Question::Keys(signs, _) = &question {
                    for (place, (dimension, key)) in DIMENSIONS.into_iter().enumerate() {
                        if signs[place] != 0 && !known[place] {
                            known[place] = true;
                            text.push_str(&(syntax.key)(&indent, self.prefix, dimension, key));
                        }
                    }
                }
                text.push_str(&(syntax.begin)(&indent, &question.text(syntax.unsigned)));
                self.branch(index + 1, depth + 1, syntax, known, text);
                text.push_str(&format!("{indent}}} else {{\n"));
                self.branch(right.into(), depth + 1, syntax, known, text);
                text.push_str(&format!("{indent}}}\n"));
            }
            Some(Node::Leaf(leaf)) => text.push_str(&(syntax.leaf)(&indent, self.value(leaf))),
            // Not in a checked model.
            None => text.push_str(&(syntax.leaf)(&indent, self.value(Leaf::UNIVERSAL))),
        }
    }

    fn value(&self, leaf: Leaf) -> u64 {
        match self.answer {
            Answer::First => leaf.first().0.into(),
            Answer::Leaf => {
                let [mut a, mut b, mut c] = [0; 3];
                for (slot, id) in [&mut a, &mut b, &mut c].into_iter().zip(leaf.kernels()) {
                    *slot = id.0;
                }
                let (expected, worst) = (leaf.expected.byte(), leaf.worst.byte());
                u64::from_le_bytes([a, b, c, expected, worst, leaf.samples.byte(), 0, 0])
            }
        }
    }

    /// Names of the kernels from id 0 on, free of what could end a string or a comment.
    fn kernels(&self) -> impl Iterator<Item = (u8, String)> {
        let ids = 0..=self.model.kernels().len() as u8;
        ids.map(|id| (id, harmless(&model_file::kernel_name(self.model, KernelId(id)))))
    }

    /// Configurations by kernel id, from 1: family, then parameters.
    fn configurations(&self) -> impl Iterator<Item = Vec<u16>> {
        let row = |one: PackedConfig| [vec![one.family.into()], one.parameters.to_vec()].concat();
        self.model.kernels().map(row)
    }

    /// Lines about where the code comes from, for a comment; the first has [`MADE_BY`].
    fn origin(&self) -> [String; 3] {
        [
            format!(
                "Chooses a GEMM kernel for a shape. {MADE_BY} {}; do not edit.",
                env!("CARGO_PKG_VERSION")
            ),
            format!(
                "Device: {}, driver {}.",
                harmless(self.model.device()),
                harmless(self.model.driver())
            ),
            format!("Method: {}.", harmless(self.model.method())),
        ]
    }
}

/// What differs between languages inside a tree.
struct Syntax {
    indent: &'static str,
    /// What follows an unsigned constant.
    unsigned: &'static str,
    /// A line that computes a key: indent, prefix of names, dimension, name of the key.
    key: fn(&str, &str, &str, &str) -> String,
    /// The line that begins an if: indent, condition.
    begin: fn(&str, &str) -> String,
    /// The line of a leaf: indent, value.
    leaf: fn(&str, u64) -> String,
}

impl Question {
    fn of(feature: Feature, threshold: u16) -> Self {
        match feature.dimension() {
            // Where the right branch begins is a whole number, and above 0.
            Some(place) => Self::Dimension(place, (feature.readable(threshold + 1) - 1.0) as u32),
            None => Self::Keys(feature.signs(), i32::from(threshold) - i32::from(feature.offset())),
        }
    }

    fn text(&self, unsigned: &str) -> String {
        match self {
            Self::Dimension(place, most) => format!("{} <= {most}{unsigned}", DIMENSIONS[*place].0),
            Self::Keys(signs, most) => {
                let mut text = String::new();
                for ((_, key), sign) in DIMENSIONS.iter().zip(signs) {
                    match (sign, text.is_empty()) {
                        (0, _) => {}
                        (1, true) => text.push_str(key),
                        (1, false) => text.push_str(&format!(" + {key}")),
                        _ => text.push_str(&format!(" - {key}")),
                    }
                }
                format!("{text} <= {most}")
            }
        }
    }
}

/// A text from a model without what could end a string or a comment.
fn harmless(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || " .,:;@()[]+-_=%#".contains(c);
    text.chars().map(|c| if plain(c) { c } else { '_' }).collect()
}

fn class_name(class: ProblemClass) -> String {
    class.to_string().replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dimension_is_compared_as_it_is_and_a_product_by_its_keys() {
        assert_eq!(Question::of(Feature::M, 48).text("u"), "m <= 71u");
        assert_eq!(Question::of(Feature::Batch, 0).text(""), "batch <= 1");
        assert_eq!(Question::of(Feature::K, 254).text(""), "k <= 4026531839");
        assert_eq!(Question::of(Feature::Bmn, 70).text("u"), "key_m + key_n + key_batch <= 70");
        assert_eq!(Question::of(Feature::KPerN, 250).text("u"), "key_k - key_n <= -6");
    }

    #[test]
    fn names_cannot_end_a_comment_or_a_string() {
        assert_eq!(harmless("GPU */ int x; \"\\\n№1"), "GPU __ int x; ____1");
    }
}
