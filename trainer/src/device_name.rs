//! Names of devices, which come from drivers, files and users, and go into models and pages.

/// Most bytes of a name.
const LONGEST: usize = 255;

/// Why a text is no name of a device.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceNameError {
    /// A character that a terminal or a line of a file would obey.
    #[error("the name of the device has a control character: `{escaped}`")]
    Control {
        /// The name, with such characters as escapes.
        escaped: String,
    },
    /// More bytes than a name has.
    #[error("the name of the device has {bytes} bytes, more than {LONGEST}")]
    TooLong {
        /// How many it has.
        bytes: usize,
    },
}

/// Whether `name`, perhaps empty, can be the name of a device.
///
/// # Errors
/// [`DeviceNameError`].
pub fn check(name: &str) -> Result<(), DeviceNameError> {
    if name.len() > LONGEST {
        return Err(DeviceNameError::TooLong { bytes: name.len() });
    }
    if name.chars().any(char::is_control) {
        return Err(DeviceNameError::Control { escaped: name.escape_debug().to_string() });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_obey_nothing() {
        for name in ["", "Mali-G71", "Grafikgerät №1 × 2", &"x".repeat(255)] {
            assert_eq!(check(name), Ok(()), "{name}");
        }
        assert_eq!(check(&"x".repeat(256)), Err(DeviceNameError::TooLong { bytes: 256 }));
        for name in ["a\nb", "a\u{1b}[31m", "a\tb", "\u{85}"] {
            let said = check(name).unwrap_err().to_string();
            assert!(said.contains("control character") && !said.chars().any(char::is_control));
        }
    }
}
