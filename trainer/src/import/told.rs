//! What the user says of files that do not say it themselves.

use std::collections::BTreeMap;
use std::path::Path;

use selector_core::{ElementType, GemmShape, Precision, ProblemClass, Transposes};

use super::ImportError;
use crate::device_name;

/// What the user says of files that do not say it themselves.
#[derive(Clone, Debug, Default)]
pub struct Told {
    /// Name of the device; chooses one in a data base of several.
    pub device: Option<String>,
    /// The shape.
    pub shape: Option<GemmShape>,
    /// The problem class.
    pub class: Option<ProblemClass>,
    /// Values of parameters where a result lacks them.
    pub defaults: BTreeMap<String, String>,
}

impl Told {
    /// The device of a file that says `said`.
    ///
    /// # Errors
    /// Nobody says it, or the user says another.
    pub(super) fn device(&self, said: &str, path: &Path) -> Result<String, ImportError> {
        let said = said.trim();
        device_name::check(said)
            .map_err(|source| ImportError::Device { path: path.to_owned(), source })?;
        match self.device.as_deref().map(str::trim).filter(|told| !told.is_empty()) {
            None if said.is_empty() => Err(ImportError::NoDevice { path: path.to_owned() }),
            Some(told) if !said.is_empty() && said != told => Err(ImportError::Devices {
                one_source: format!("`{}`", path.display()),
                one: said.to_owned(),
                other_source: "`--device`".to_owned(),
                other: told.to_owned(),
            }),
            Some(told) => Ok(told.to_owned()),
            None => Ok(said.to_owned()),
        }
    }

    /// The class of results of which a file says so much; what nobody says is plain `f32-nn`.
    ///
    /// # Errors
    /// The user says other elements.
    pub(super) fn class(
        &self,
        element: Option<ElementType>,
        path: &Path,
    ) -> Result<ProblemClass, ImportError> {
        let said = |element| match element {
            ElementType::F32 => Precision::F32,
            ElementType::F16 => Precision::F16,
        };
        match (self.class, element) {
            (Some(told), Some(element)) if told.element() != element => Err(ImportError::Class {
                path: path.to_owned(),
                told: told.to_string(),
                said: said(element).name().to_owned(),
            }),
            (Some(told), _) => Ok(told),
            (None, element) => {
                let precision = said(element.unwrap_or(ElementType::F32));
                Ok(ProblemClass::new(precision, Transposes::Nn))
            }
        }
    }
}

/// The elements that a tuner's `PRECISION` stands for, or why its results are dropped.
pub(super) fn element(precision: &str) -> Option<Result<ElementType, &'static str>> {
    match precision {
        "16" => Some(Ok(ElementType::F16)),
        "32" => Some(Ok(ElementType::F32)),
        "64" => Some(Err("of doubles")),
        "3232" | "6464" => Some(Err("of complex numbers")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(device: &str) -> Told {
        Told { device: Some(device.to_owned()), ..Told::default() }
    }

    #[test]
    fn a_device_is_trimmed_and_compared_exactly() {
        let path = Path::new("x.json");
        assert_eq!(Told::default().device(" Mali-G71 ", path).unwrap(), "Mali-G71");
        assert_eq!(told("Mali-G71 ").device(" Mali-G71", path).unwrap(), "Mali-G71");
        assert_eq!(told("Mali-G71").device("", path).unwrap(), "Mali-G71");
        let error = told("mali-g71").device("Mali-G71", path).unwrap_err().to_string();
        assert!(error.contains("`Mali-G71`") && error.contains("`mali-g71`"), "{error}");
        let strange = Told::default().device("a\tb", path);
        assert!(matches!(strange, Err(ImportError::Device { .. })));
        for nobody in [Told::default(), told(" ")] {
            let error = nobody.device(" ", path).unwrap_err().to_string();
            assert_eq!(error, "`x.json` does not say its device; `--device NAME` says it");
        }
    }

    #[test]
    fn a_class_is_what_the_file_says_with_the_transposes_that_the_user_says() {
        let path = Path::new("x.json");
        let half = Some(ElementType::F16);
        assert_eq!(Told::default().class(None, path).unwrap(), ProblemClass::F32_NN);
        assert_eq!(Told::default().class(half, path).unwrap().to_string(), "f16-nn");
        let told = Told { class: "f16-tn".parse().ok(), ..Told::default() };
        assert_eq!(told.class(half, path).unwrap().to_string(), "f16-tn");
        // How 16-bit elements were multiplied is the user's to say.
        let native = Told { class: "f16h-nn".parse().ok(), ..Told::default() };
        assert_eq!(native.class(half, path).unwrap().to_string(), "f16h-nn");
        let error = told.class(Some(ElementType::F32), path).unwrap_err().to_string();
        assert!(error.contains("f32") && error.contains("f16-tn"), "{error}");
    }
}
