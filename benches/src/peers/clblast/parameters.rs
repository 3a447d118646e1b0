//! CLBlast's tuning parameters, as `benches/peers/tune-clblast.sh` writes them: a line a kernel,
//! its name and then `NAME=VALUE`; lines `# key: value` say where they come from.

use std::ffi::CString;
use std::fmt;
use std::path::Path;

use anyhow::{Context, ensure};

use super::{OverrideParameters, SINGLE, SUCCESS};
use crate::peers::library::{self, Found};
use crate::peers::{CUT_SHORT, Stage};

/// Largest file that is read.
const LARGEST: u64 = 1 << 16;

#[derive(Debug, Eq, PartialEq)]
pub(super) struct Parameters {
    device: Option<String>,
    date: String,
    /// Tuners that were stopped before they had tried all, by name; empty if none was.
    cut_short: String,
    kernels: Vec<(CString, Vec<(CString, usize)>)>,
}

impl Parameters {
    pub(super) fn read(path: &Path) -> anyhow::Result<Self> {
        let bytes = trainer::file::read(path, LARGEST);
        let bytes = bytes.with_context(|| format!("could not read `{}`", path.display()))?;
        let parsed = String::from_utf8(bytes).context("not text").and_then(|text| parse(&text));
        parsed.with_context(|| format!("`{}` has no parameters of CLBlast", path.display()))
    }

    /// Refuse parameters of another device; a file need not say whose they are.
    pub(super) fn check_device(&self, here: &str) -> anyhow::Result<()> {
        let theirs = self.device.as_deref().unwrap_or(here);
        ensure!(theirs == here, "the parameters are those of `{theirs}`, but this is `{here}`");
        Ok(())
    }

    /// Let a library use them on the device of `stage`.
    pub(super) fn put(&self, found: &Found, stage: &Stage<'_>) -> anyhow::Result<()> {
        // SAFETY: the type is that of the library's C header.
        let set: OverrideParameters =
            unsafe { library::function(found.library, "CLBlastOverrideParameters")? };
        for (kernel, parameters) in &self.kernels {
            let names: Vec<_> = parameters.iter().map(|(name, _)| name.as_ptr()).collect();
            let values: Vec<_> = parameters.iter().map(|(_, value)| *value).collect();
            // SAFETY: texts and arrays outlive the call, and are as long as it says.
            let status = unsafe {
                set(
                    stage.device(),
                    kernel.as_ptr(),
                    SINGLE,
                    names.len(),
                    names.as_ptr(),
                    values.as_ptr(),
                )
            };
            let kernel = kernel.to_string_lossy();
            ensure!(status == SUCCESS, "CLBlast refuses the parameters of {kernel} ({status})");
        }
        Ok(())
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

fn parse(text: &str) -> anyhow::Result<Parameters> {
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
        let kernel = CString::new(words.next().unwrap_or_default())?;
        let pair = |word: &str| {
            let (name, value) = word.split_once('=').with_context(|| format!("`{word}`"))?;
            Ok((CString::new(name)?, value.parse().with_context(|| format!("`{word}`"))?))
        };
        let parameters = words.map(pair).collect::<anyhow::Result<Vec<_>>>()?;
        ensure!(!parameters.is_empty(), "`{line}` has no parameters");
        kernels.push((kernel, parameters));
    }
    ensure!(!kernels.is_empty(), "it names no kernel");
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
