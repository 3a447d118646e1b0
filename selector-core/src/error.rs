//! What can be wrong with a model or a text.

use core::fmt;

/// Why bytes are not a model. Nothing is half-loaded.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ModelError {
    /// The checksum does not match: damaged, or cut and padded.
    Checksum,
    /// Two trees claim this problem class.
    ClassTwice(u8),
    /// No problem class has this number.
    ClassUnknown(u8),
    /// A feature is listed twice.
    FeatureTwice(u8),
    /// No feature has this number.
    FeatureUnknown(u8),
    /// The first four bytes are not a model's.
    Magic,
    /// The entry at this index of the trees is wrong.
    Node {
        /// Position in the entries, from 0.
        index: usize,
        /// What is wrong there.
        error: NodeError,
    },
    /// The payload does not decode.
    Payload,
    /// The trees' bytes are not a whole number of entries.
    RaggedTrees {
        /// Bytes found.
        have: usize,
    },
    /// A reserved byte of the header that is not zero.
    Reserved,
    /// A tree's first entry lies outside the entries, or inside another tree.
    Root {
        /// The class whose tree it is.
        class: u8,
        /// The entry named.
        root: u16,
    },
    /// A share of optimal above 1.
    Score(u16),
    /// More tree heads than there are problem classes.
    TooManyClasses {
        /// Tree heads in the model.
        need: usize,
        /// Problem classes that there are.
        have: usize,
    },
    /// More entries than indices can name.
    TooManyEntries {
        /// Entries in the model.
        need: usize,
        /// Entries that fit.
        have: usize,
    },
    /// More features than a model may use.
    TooManyFeatures {
        /// Features in the model.
        need: usize,
        /// Features that fit.
        have: usize,
    },
    /// More kernels than this build can hold.
    TooManyKernels {
        /// Kernels in the model.
        need: usize,
        /// Kernels that this build holds.
        have: usize,
    },
    /// A kernel with more parameters than this build can hold.
    TooManyParameters {
        /// The kernel's id, from 1.
        kernel: usize,
        /// Parameters of the kernel.
        need: usize,
        /// Parameters that this build holds.
        have: usize,
    },
    /// More bytes than the header announces.
    TrailingBytes {
        /// Bytes beyond the end.
        extra: usize,
    },
    /// Fewer bytes than the header announces, or than a header has.
    Truncated {
        /// Bytes announced.
        need: usize,
        /// Bytes given.
        have: usize,
    },
    /// Entries that no tree reaches.
    UnreachableEntries {
        /// The first of them.
        first: usize,
    },
    /// Written in a format this build does not read.
    Version {
        /// The model's format version, major and minor.
        found: (u8, u8),
        /// The newest version that this build reads, as it does all before of the same major one.
        supported: (u8, u8),
    },
}

/// What is wrong with one entry of a tree.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum NodeError {
    /// A left branch ends here, but its split's right branch does not begin here.
    Branch,
    /// The model lists no feature at this place.
    Feature(u8),
    /// No kernel has this id.
    Kernel(u8),
    /// A ranked list with a gap or a kernel twice.
    Ranking,
    /// A reserved byte that is not zero.
    Reserved,
    /// A threshold that sends every shape to the left.
    Threshold(u16),
    /// Deeper than a model may be.
    TooDeep,
    /// The entries end inside a tree.
    Unfinished,
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Checksum => f.write_str("checksum mismatch: the model is damaged; copy it again"),
            Self::ClassTwice(class) => write!(f, "two trees for problem class {class}"),
            Self::ClassUnknown(class) => write!(f, "unknown problem class {class}"),
            Self::FeatureTwice(feature) => write!(f, "feature {feature} is listed twice"),
            Self::FeatureUnknown(feature) => write!(f, "unknown feature {feature}"),
            Self::Magic => f.write_str("not a gemmtree model"),
            Self::Node { index, error } => write!(f, "tree entry {index}: {error}"),
            Self::Payload => f.write_str("the payload does not decode"),
            Self::RaggedTrees { have } => {
                write!(f, "{have} bytes of trees are not a whole number of entries")
            }
            Self::Root { class, root } => {
                write!(
                    f,
                    "the tree of problem class {class} begins at entry {root}, where none begins"
                )
            }
            Self::Reserved => f.write_str("a reserved byte of the header is not zero"),
            Self::Score(score) => {
                write!(f, "the share of optimal is {score}/10000, which is more than 1")
            }
            Self::TooManyClasses { need, have } => {
                write!(f, "the model has {need} tree heads, but there are {have} problem classes")
            }
            Self::TooManyEntries { need, have } => {
                write!(f, "the model has {need} tree entries, the format holds {have}")
            }
            Self::TooManyFeatures { need, have } => {
                write!(f, "the model uses {need} features, the format holds {have}")
            }
            Self::TooManyKernels { need, have } => {
                write!(f, "the model has {need} kernels, this build holds {have}")
            }
            Self::TooManyParameters { kernel, need, have } => {
                write!(f, "kernel {kernel} has {need} parameters, this build holds {have}")
            }
            Self::TrailingBytes { extra } => write!(f, "{extra} bytes follow the end of the model"),
            Self::Truncated { need, have } => {
                write!(f, "truncated: {need} bytes needed, {have} given; copy the model again")
            }
            Self::UnreachableEntries { first } => {
                write!(f, "no tree reaches entry {first}")
            }
            Self::Version { found, supported } => write!(
                f,
                "format version {}.{}, but this build reads {}.0 to {}.{}; train the model again or use a matching build",
                found.0, found.1, supported.0, supported.0, supported.1
            ),
        }
    }
}

impl core::error::Error for ModelError {}

impl fmt::Display for NodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Branch => f.write_str("the right branch does not begin where the left one ends"),
            Self::Feature(lane) => write!(f, "the model lists no feature at place {lane}"),
            Self::Kernel(kernel) => write!(f, "unknown kernel {kernel}"),
            Self::Ranking => f.write_str("the ranked kernels have a gap or name one twice"),
            Self::Reserved => f.write_str("a reserved byte is not zero"),
            Self::Threshold(threshold) => {
                write!(f, "no shape is above the threshold {threshold}")
            }
            Self::TooDeep => write!(f, "deeper than {} splits", crate::MAX_DEPTH),
            Self::Unfinished => f.write_str("the entries end inside a tree"),
        }
    }
}

/// A tree with more splits than a [`FastTree`](crate::FastTree) of this capacity holds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct CapacityError {
    /// Splits of the tree.
    pub need: usize,
    /// Splits that fit.
    pub have: usize,
}

impl fmt::Display for CapacityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { need, have } = self;
        write!(f, "the tree has {need} splits, but this build holds {have}; raise the capacity")
    }
}

impl core::error::Error for CapacityError {}

/// Why a text is not a shape, a problem class or a feature.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ParseTextError {
    /// Not a problem class.
    Class,
    /// Not a feature's name.
    Feature,
    /// Not a shape.
    Shape,
}

impl fmt::Display for ParseTextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Class => {
                "not a problem class: expected f32, f16 or f16h, `-`, and nn, nt, tn or tt"
            }
            Self::Feature => "not a feature",
            Self::Shape => "not a shape: expected MxKxN or MxKxNxBATCH, each below 2^32",
        })
    }
}

impl core::error::Error for ParseTextError {}
