//! JSON as tuners leave it: cut off while being written, with `NaN`, with a comma too many.

use serde::de::DeserializeOwned;

use super::{ImportError, Source};

/// A text that was made whole.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Mended {
    /// The JSON, each line where it was.
    pub(super) text: Vec<u8>,
    /// Whether the file ends within an entry, which is left out.
    pub(super) cut: bool,
}

/// Make a tuner's file plain JSON: `NaN` and `Infinity` become `null`, commas before a closing
/// bracket go, and a file without an end is closed after its last whole entry. Entries are the
/// objects two levels below the top.
pub(super) fn mend(bytes: &[u8]) -> Mended {
    let mut scan = Scan { text: Vec::with_capacity(bytes.len() + 2), ..Scan::default() };
    let mut rest = bytes;
    while let Some((&byte, after)) = rest.split_first() {
        rest = match not_a_number(rest).filter(|_| !scan.within_text) {
            Some(token) => {
                scan.text.extend(b"null");
                &rest[token.len()..]
            }
            None => {
                scan.take(byte);
                after
            }
        };
    }
    scan.finish()
}

/// The value in `text`.
///
/// # Errors
/// [`ImportError::Json`] says where it is wrong.
pub(super) fn parse<T: DeserializeOwned>(
    source: &Source<'_>,
    format: &'static str,
    text: &[u8],
) -> Result<T, ImportError> {
    serde_json::from_slice(text).map_err(|error| wrong(source, format, &error))
}

/// The error for what `serde_json` refused.
pub(super) fn wrong(
    source: &Source<'_>,
    format: &'static str,
    error: &serde_json::Error,
) -> ImportError {
    let problem = error.to_string();
    let problem = match problem.split_once("recursion limit exceeded") {
        Some((_, place)) => format!("nested too deeply{place}"),
        None if error.is_eof() => format!("it ends before the first result is whole ({problem})"),
        None => problem,
    };
    ImportError::Json { path: source.path.to_owned(), format, problem }
}

/// What Python writes for a number that is none.
fn not_a_number(rest: &[u8]) -> Option<&'static [u8]> {
    let tokens: [&[u8]; 3] = [b"NaN", b"Infinity", b"-Infinity"];
    tokens.into_iter().find(|token| rest.starts_with(token))
}

#[derive(Default)]
struct Scan {
    text: Vec<u8>,
    within_text: bool,
    escaped: bool,
    /// What closes the brackets that are open.
    open: Vec<u8>,
    /// Length of the text and open brackets after the last entry.
    entry: Option<(usize, [u8; 2])>,
}

impl Scan {
    fn take(&mut self, byte: u8) {
        if self.within_text {
            self.within_text = self.escaped || byte != b'"';
            self.escaped = !self.escaped && byte == b'\\';
            return self.text.push(byte);
        }
        match byte {
            b'"' => self.within_text = true,
            b'{' => self.open.push(b'}'),
            b'[' => self.open.push(b']'),
            b'}' | b']' => {
                self.blank_last_comma();
                self.open.pop();
            }
            _ => {}
        }
        self.text.push(byte);
        if byte == b'}'
            && let &[outer, inner] = &self.open[..]
        {
            self.entry = Some((self.text.len(), [outer, inner]));
        }
    }

    fn blank_last_comma(&mut self) {
        let last = self.text.iter_mut().rev().find(|byte| !byte.is_ascii_whitespace());
        if let Some(comma) = last.filter(|byte| **byte == b',') {
            *comma = b' ';
        }
    }

    fn finish(mut self) -> Mended {
        let whole = self.open.is_empty();
        let Some((length, [outer, inner])) = self.entry.filter(|_| !whole) else {
            return Mended { text: self.text, cut: false };
        };
        let blank = |byte: &u8| byte.is_ascii_whitespace() || *byte == b',';
        // Brackets that close properly are no entry either.
        let closed = |byte: &u8| blank(byte) || matches!(byte, b'}' | b']');
        let cut = !self.text[length..].iter().all(closed);
        self.text.truncate(length);
        self.text.extend([inner, outer]);
        Mended { text: self.text, cut }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::{Value, json};

    use super::*;

    fn mended(text: &str) -> (Value, bool) {
        let Mended { text, cut } = mend(text.as_bytes());
        (serde_json::from_slice(&text).unwrap(), cut)
    }

    #[test]
    fn a_whole_file_stays_as_it_is() {
        let text = r#"{"a": {"NaN": {"b": "} , ] \" NaN \\"}}, "c": [1, {"d": -1e3}]}"#;
        assert_eq!(mend(text.as_bytes()), Mended { text: text.into(), cut: false });
    }

    #[test]
    fn what_is_no_number_becomes_null() {
        let (value, cut) = mended(r#"{"a": [NaN, Infinity, -Infinity, -1], "b": NaN}"#);
        assert_eq!(value, json!({"a": [null, null, null, -1], "b": null}));
        assert!(!cut);
    }

    #[test]
    fn commas_before_a_closing_bracket_go() {
        assert_eq!(
            mended("{\"a\": [1, 2,\n], \"b\": {\"c\": 1 , } ,}").0,
            json!({"a": [1, 2], "b": {"c": 1}})
        );
    }

    #[test]
    fn a_file_cut_anywhere_keeps_the_entries_that_are_whole() {
        let text =
            r#"{"d": "x", "cache": {"1": {"t": [1, {"}": 2}]}, "2": {"t": 3}, "3": {"t": 4}}}"#;
        let ends: Vec<_> =
            ["}, \"2\"", "}, \"3\"", "}}}"].map(|end| text.find(end).unwrap()).into();
        for length in ends[0] + 1..text.len() {
            let (value, cut) = mended(&text[..length]);
            let whole = ends.iter().filter(|end| **end < length).count();
            assert_eq!(value["cache"].as_object().unwrap().len(), whole, "{length}");
            let tail = text[ends[whole - 1] + 1..length].trim_matches([' ', ',', '}']);
            assert_eq!(cut, !tail.is_empty(), "{length}");
        }
    }

    #[test]
    fn an_array_of_entries_is_closed_as_one() {
        let (value, cut) = mended(r#"{"results": [{"p": {"a": 1}}, {"p": {"a": 2}"#);
        assert_eq!(value, json!({"results": [{"p": {"a": 1}}]}));
        assert!(cut);
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_its_place() {
        let refusal = |text: &str| {
            let source = Source { path: Path::new("x.json"), bytes: b"" };
            let text = mend(text.as_bytes()).text;
            parse::<Value>(&source, "clblast", &text).unwrap_err().to_string()
        };
        let deep = refusal(&"[".repeat(100_000));
        assert!(deep.contains("nested too deeply at line 1"), "{deep}");
        let cut = refusal("{\"cache\": {\"1\": {\"t\"");
        assert!(cut.contains("ends before the first result is whole"), "{cut}");
        let other = refusal("{\n\"a\": 1 1}");
        assert!(other.contains("`x.json` is no whole JSON file of format `clblast`"), "{other}");
        assert!(other.contains("line 2"), "{other}");
    }
}
