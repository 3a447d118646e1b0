//! What kind of multiplication: element type and transposes.

use core::fmt;
use core::str::FromStr;

use crate::ParseTextError;

/// Type of the elements in memory; sums are always kept in 32-bit floats.
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

/// Element type and transposes; each class has its tree. As text: `f32-nn`.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ProblemClass {
    /// Type of A, B and C in memory.
    pub element: ElementType,
    /// How A and B are stored.
    pub transposes: Transposes,
}

impl ProblemClass {
    /// Number of classes.
    pub const COUNT: usize = 8;

    /// Plain single precision, the class of a data set that names none.
    pub const F32_NN: Self = Self::new(ElementType::F32, Transposes::Nn);

    /// The class of these elements and transposes.
    #[must_use]
    pub const fn new(element: ElementType, transposes: Transposes) -> Self {
        Self { element, transposes }
    }

    /// The class's number on the wire (FORMAT.md §4), below [`Self::COUNT`].
    #[must_use]
    pub const fn index(self) -> u8 {
        let element = match self.element {
            ElementType::F32 => 0,
            ElementType::F16 => 4,
        };
        let transposes = match self.transposes {
            Transposes::Nn => 0,
            Transposes::Nt => 1,
            Transposes::Tn => 2,
            Transposes::Tt => 3,
        };
        element + transposes
    }

    /// The class with this number.
    #[must_use]
    pub const fn from_index(index: u8) -> Option<Self> {
        let element = match index {
            0..=3 => ElementType::F32,
            4..=7 => ElementType::F16,
            _ => return None,
        };
        Some(Self { element, transposes: Transposes::of(index & 2 != 0, index & 1 != 0) })
    }

    /// Every class, by number.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..8).filter_map(Self::from_index)
    }
}

impl fmt::Display for ProblemClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let element = match self.element {
            ElementType::F32 => "f32",
            ElementType::F16 => "f16",
        };
        write!(f, "{element}-{}", self.transposes.name())
    }
}

impl FromStr for ProblemClass {
    type Err = ParseTextError;

    fn from_str(text: &str) -> Result<Self, ParseTextError> {
        let (element, transposes) = text.split_once(['-']).ok_or(ParseTextError::Class)?;
        let element = match element {
            "f32" => ElementType::F32,
            "f16" => ElementType::F16,
            _ => return Err(ParseTextError::Class),
        };
        let transposes = Transposes::ALL
            .into_iter()
            .find(|one| one.name() == transposes)
            .ok_or(ParseTextError::Class)?;
        Ok(Self { element, transposes })
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
        let expected =
            ["f32-nn", "f32-nt", "f32-tn", "f32-tt", "f16-nn", "f16-nt", "f16-tn", "f16-tt"];
        assert_eq!(names, expected);
        for (index, class) in ProblemClass::all().enumerate() {
            assert_eq!(usize::from(class.index()), index);
            assert_eq!(class.to_string().parse(), Ok(class));
        }
        assert_eq!(names.len(), ProblemClass::COUNT);
        assert_eq!(ProblemClass::from_index(8), None);
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
        for text in ["", "f32", "f32-", "f64-nn", "F32-nn", "f32-nn ", "f32-nc", "f32_nn", "-nn"] {
            assert_eq!(text.parse::<ProblemClass>(), Err(ParseTextError::Class), "{text:?}");
        }
    }
}
