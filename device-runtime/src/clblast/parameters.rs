//! CLBlast's tuning parameters, as `benches/peers/tune-clblast.sh` writes them: a line a kernel,
//! its name and then `NAME=VALUE`; lines `# key: value` say where they come from.

use std::ffi::{CStr, CString};
use std::fmt;
use std::path::Path;

use super::{CUT_SHORT, ClblastError};
use crate::file;

/// Largest file that is taken.
const LARGEST: usize = 1 << 16;

#[derive(Debug, Eq, PartialEq)]
pub(super) struct Parameters {
    device: Option<String>,
    date: String,
    /// Tuners that were stopped before they had tried all, by name; empty if none was.
    cut_short: String,
    kernels: Vec<(CString, Vec<(CString, usize)>)>,
}

impl Parameters {
    /// Those of a file.
    ///
    /// # Errors
    /// [`ClblastError::Parameters`] says what is wrong with it.
    pub(super) fn read(path: &Path) -> Result<Self, ClblastError> {
        let failed = |why: String| ClblastError::Parameters { path: path.to_owned(), why };
        let bytes = file::read(path).map_err(|error| failed(error.to_string()))?;
        if bytes.len() > LARGEST {
            return Err(failed(format!("it is larger than {LARGEST} bytes")));
        }
        parse(&String::from_utf8(bytes).map_err(|error| failed(error.to_string()))?).map_err(failed)
    }

    /// Refuse parameters of another device; a file need not say whose they are.
    ///
    /// # Errors
    /// [`ClblastError::OtherDevice`].
    pub(super) fn check_device(&self, here: &str) -> Result<(), ClblastError> {
        match &self.device {
            Some(theirs) if theirs != here => {
                Err(ClblastError::OtherDevice { theirs: theirs.clone(), here: here.to_owned() })
            }
            _ => Ok(()),
        }
    }

    /// The kernels with their parameters.
    pub(super) fn kernels(&self) -> impl Iterator<Item = (&CStr, &[(CString, usize)])> {
        self.kernels.iter().map(|(kernel, parameters)| (kernel.as_c_str(), &parameters[..]))
    }
}

impl fmt::Display for Parameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "parameters of {} for {} kernels", self.date, self.kernels.len())?;
        if self.cut_short.is_empty() {
            Ok(())
        } else {
            write!(f, ", {CUT_SHORT}: {}", self.cut_short)
        }
    }
}

fn parse(text: &str) -> Result<Parameters, String> {
    let (mut device, mut date, mut kernels) = (None, "an unknown date".to_owned(), Vec::new());
    let mut cut_short = String::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(comment) = line.strip_prefix('#') {
            match comment.split_once(':').map(|(key, value)| (key.trim(), value.trim())) {
                Some(("device", value)) => device = Some(value.to_owned()),
                Some(("date", value)) => date = value.to_owned(),
                Some((CUT_SHORT, value)) => cut_short = value.to_owned(),
                _ => {}
            }
            continue;
        }
        let mut words = line.split_whitespace();
        let kernel = words.next().and_then(|name| CString::new(name).ok());
        let kernel = kernel.ok_or_else(|| format!("`{line}` names no kernel"))?;
        let pair = |word: &str| {
            let (name, value) = word.split_once('=')?;
            Some((CString::new(name).ok()?, value.parse().ok()?))
        };
        let parameters =
            words.map(|word| pair(word).ok_or_else(|| format!("`{word}` is no parameter")));
        let parameters = parameters.collect::<Result<Vec<_>, _>>()?;
        if parameters.is_empty() {
            return Err(format!("`{line}` has no parameters"));
        }
        kernels.push((kernel, parameters));
    }
    if kernels.is_empty() {
        return Err("it names no kernel".to_owned());
    }
    Ok(Parameters { device, date, cut_short, kernels })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_with_their_parameters_are_read_and_anything_else_is_refused() {
        let text = "# device: A: b\n# date: 2026-01-02\n\nCopy COPY_VW=4 COPY_WPT=2\nPad P=1\n";
        let parameters = parse(text).unwrap();
        assert_eq!(parameters.kernels.len(), 2);
        assert_eq!(parameters.kernels[0].0.to_str().unwrap(), "Copy");
        assert_eq!(parameters.kernels[0].1[1], (c"COPY_WPT".to_owned(), 2));
        assert_eq!(parameters.to_string(), "parameters of 2026-01-02 for 2 kernels");
        let cut = parse(&format!("# cut short: pad xgemm\n{text}")).unwrap().to_string();
        assert_eq!(cut, "parameters of 2026-01-02 for 2 kernels, cut short: pad xgemm");
        assert!(parameters.check_device("A: b").is_ok());
        let refused = parameters.check_device("another").unwrap_err().to_string();
        assert!(refused.contains("`A: b`") && refused.contains("`another`"), "{refused}");
        for damaged in ["", "# device: A\n", "Copy\n", "Copy COPY_VW\n", "Copy COPY_VW=-1\n"] {
            assert!(parse(damaged).is_err(), "{damaged}");
        }
    }
}
