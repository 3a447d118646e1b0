//! What kind of multiplication: precision and transposes.

use core::fmt;
use core::str::FromStr;

use crate::ParseTextError;

/// Type of the elements in memory.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum ElementType {
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary16.
    F16,
}

impl ElementType {
    /// Bytes of one element.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        match self {
            Self::F32 => 4,
            Self::F16 => 2,
        }
    }
}

/// Type of the elements in memory, and how precisely a kernel multiplies them.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Precision {
    /// `f32`: 32-bit elements, and 32-bit products and sums.
    F32,
    /// `f16`: 16-bit elements, but 32-bit products and sums.
    F16,
    /// `f16h`: 16-bit elements. A kernel may multiply and add a run of at most eight products along
    /// k in 16 bits; runs are added in 32 bits. It need not: where a device has no 16-bit
    /// arithmetic, kernels do as for `f16`.
    F16Half,
}

impl Precision {
    /// All three, in the order of the wire format.
    pub const ALL: [Self; 3] = [Self::F32, Self::F16, Self::F16Half];

    /// Type of the elements in memory.
    #[must_use]
    pub const fn element(self) -> ElementType {
        match self {
            Self::F32 => ElementType::F32,
            Self::F16 | Self::F16Half => ElementType::F16,
        }
    }

    /// The name before the `-` of a class.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::F16Half => "f16h",
        }
    }
}

/// Whether A and B are stored transposed (`t`) or as they are used (`n`).
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Transposes {
    /// Neither.
    Nn,
    /// B only.
    Nt,
    /// A only.
    Tn,
    /// Both.
    Tt,
}

impl Transposes {
    /// All four, in the order of the wire format.
    pub const ALL: [Self; 4] = [Self::Nn, Self::Nt, Self::Tn, Self::Tt];

    /// The transposes of A and of B.
    #[must_use]
    pub const fn of(a: bool, b: bool) -> Self {
        match (a, b) {
            (false, false) => Self::Nn,
            (false, true) => Self::Nt,
            (true, false) => Self::Tn,
            (true, true) => Self::Tt,
        }
    }

    /// Whether A is stored transposed, k×m.
    #[must_use]
    pub const fn a(self) -> bool {
        matches!(self, Self::Tn | Self::Tt)
    }

    /// Whether B is stored transposed, n×k.
    #[must_use]
    pub const fn b(self) -> bool {
        matches!(self, Self::Nt | Self::Tt)
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Nn => "nn",
            Self::Nt => "nt",
            Self::Tn => "tn",
            Self::Tt => "tt",
        }
    }
}

/// Precision and transposes; each class has its tree. As text: `f32-nn`.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ProblemClass {
    /// Type of A, B and C in memory, and how they are multiplied.
    pub precision: Precision,
    /// How A and B are stored.
    pub transposes: Transposes,
}

impl ProblemClass {
    /// Number of classes.
    pub const COUNT: usize = Precision::ALL.len() * Transposes::ALL.len();

    /// Plain single precision, the class of a data set that names none.
    pub const F32_NN: Self = Self::new(Precision::F32, Transposes::Nn);

    /// The class of this precision and these transposes.
    #[must_use]
    pub const fn new(precision: Precision, transposes: Transposes) -> Self {
        Self { precision, transposes }
    }

    /// Type of A, B and C in memory.
    #[must_use]
    pub const fn element(self) -> ElementType {
        self.precision.element()
    }

    /// The class's number on the wire (FORMAT.md §4), below [`Self::COUNT`].
    #[must_use]
    pub const fn index(self) -> u8 {
        let precision = match self.precision {
            Precision::F32 => 0,
            Precision::F16 => 4,
            Precision::F16Half => 8,
        };
        let transposes = match self.transposes {
            Transposes::Nn => 0,
            Transposes::Nt => 1,
            Transposes::Tn => 2,
            Transposes::Tt => 3,
        };
        precision + transposes
    }

    /// The class with this number.
    #[must_use]
    pub const fn from_index(index: u8) -> Option<Self> {
        let precision = match index {
            0..=3 => Precision::F32,
            4..=7 => Precision::F16,
            8..=11 => Precision::F16Half,
            _ => return None,
        };
        Some(Self { precision, transposes: Transposes::of(index & 2 != 0, index & 1 != 0) })
    }

    /// Every class, by number.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..Self::COUNT as u8).filter_map(Self::from_index)
    }
}

impl fmt::Display for ProblemClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.precision.name(), self.transposes.name())
    }
}

impl FromStr for ProblemClass {
    type Err = ParseTextError;

    fn from_str(text: &str) -> Result<Self, ParseTextError> {
        let (precision, transposes) = text.split_once(['-']).ok_or(ParseTextError::Class)?;
        let precision = Precision::ALL.into_iter().find(|one| one.name() == precision);
        let transposes = Transposes::ALL.into_iter().find(|one| one.name() == transposes);
        match (precision, transposes) {
            (Some(precision), Some(transposes)) => Ok(Self { precision, transposes }),
            _ => Err(ParseTextError::Class),
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::string::ToString;
    use std::vec::Vec;

    use super::*;

    #[test]
    fn numbers_and_names_lead_back_to_their_class() {
        let names: Vec<_> = ProblemClass::all().map(|class| class.to_string()).collect();
        let expected = "f32-nn f32-nt f32-tn f32-tt f16-nn f16-nt f16-tn f16-tt \
                        f16h-nn f16h-nt f16h-tn f16h-tt";
        assert_eq!(names.join(" "), expected);
        for (index, class) in ProblemClass::all().enumerate() {
            assert_eq!(usize::from(class.index()), index);
            assert_eq!(class.to_string().parse(), Ok(class));
        }
        assert_eq!(names.len(), ProblemClass::COUNT);
        assert_eq!(ProblemClass::from_index(12), None);
        assert_eq!(ProblemClass::from_index(255), None);
    }

    #[test]
    fn transposes_name_a_then_b() {
        assert_eq!(Transposes::of(true, false), Transposes::Tn);
        for transposes in Transposes::ALL {
            assert_eq!(Transposes::of(transposes.a(), transposes.b()), transposes);
        }
    }

    #[test]
    fn other_texts_are_no_class() {
        for text in
            ["", "f32", "f32-", "f64-nn", "F32-nn", "f32-nn ", "f32-nc", "f32_nn", "-nn", "h16-nn"]
        {
            assert_eq!(text.parse::<ProblemClass>(), Err(ParseTextError::Class), "{text:?}");
        }
    }
}
