//! Values of a board file that reach a command line or a screen, checked when they are read.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// Why a value cannot stand in a board file.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FieldError {
    /// A tab, a newline or another control character.
    #[error("has a control character, for example a tab")]
    Control,
    /// Nothing but white space.
    #[error("is empty")]
    Empty,
    /// A program would take it for an option.
    #[error("begins with `-`, which programs take for an option")]
    LeadingDash,
    /// White space where there can be none.
    #[error("has white space")]
    Space,
}

/// A name for people or for matching: one line, not empty.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
#[serde(try_from = "String")]
pub struct Label(String);

/// The name or address of a machine, with `user@` or without.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
#[serde(try_from = "String")]
pub struct Host(String);

/// A folder on a board.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
#[serde(try_from = "String")]
pub struct Folder(PathBuf);

impl Folder {
    /// The folder as a path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The folder as a word of a shell command.
    pub(crate) fn quoted(&self) -> String {
        let text = self.to_string();
        let plain = |c: char| c.is_ascii_alphanumeric() || "/._-~".contains(c);
        if text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
    }

    /// The folder seen from `base` if it is relative.
    #[must_use]
    pub fn within(&self, base: &Path) -> Self {
        Self(base.join(&self.0))
    }
}

impl TryFrom<String> for Label {
    type Error = FieldError;

    fn try_from(text: String) -> Result<Self, FieldError> {
        check_line(&text)?;
        Ok(Self(text.trim().to_owned()))
    }
}

impl TryFrom<String> for Host {
    type Error = FieldError;

    fn try_from(text: String) -> Result<Self, FieldError> {
        check_line(&text)?;
        check_argument(&text)?;
        if text.contains(char::is_whitespace) { Err(FieldError::Space) } else { Ok(Self(text)) }
    }
}

impl TryFrom<String> for Folder {
    type Error = FieldError;

    fn try_from(text: String) -> Result<Self, FieldError> {
        check_line(&text)?;
        check_argument(&text)?;
        Ok(Self(PathBuf::from(text)))
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Display for Folder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0.display(), f)
    }
}

fn check_line(text: &str) -> Result<(), FieldError> {
    if text.contains(char::is_control) {
        Err(FieldError::Control)
    } else if text.trim().is_empty() {
        Err(FieldError::Empty)
    } else {
        Ok(())
    }
}

fn check_argument(text: &str) -> Result<(), FieldError> {
    if text.starts_with('-') { Err(FieldError::LeadingDash) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_that_are_options_or_not_one_word_are_refused() {
        let host = |text: &str| Host::try_from(text.to_owned()).err();
        assert_eq!(host("root@hikey.local"), None);
        assert_eq!(host("-oProxyCommand=x"), Some(FieldError::LeadingDash));
        assert_eq!(host("hikey\tlocal"), Some(FieldError::Control));
        assert_eq!(host("hikey local"), Some(FieldError::Space));
        assert_eq!(host(""), Some(FieldError::Empty));
    }

    #[test]
    fn labels_are_trimmed_and_folders_kept() {
        let label = Label::try_from("QUALCOMM ".to_owned()).unwrap();
        assert_eq!(label.to_string(), "QUALCOMM");
        assert_eq!(Label::try_from("\n".to_owned()), Err(FieldError::Control));
        assert_eq!(Label::try_from("  ".to_owned()), Err(FieldError::Empty));
        let folder = Folder::try_from("/data/local tmp".to_owned()).unwrap();
        assert_eq!(folder.path(), Path::new("/data/local tmp"));
        assert_eq!(Folder::try_from("-rf".to_owned()), Err(FieldError::LeadingDash));
    }
}
