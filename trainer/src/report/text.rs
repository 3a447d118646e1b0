//! Texts and numbers as the page shows them.

use std::fmt::{self, Display, Formatter, Write};

/// A text from a model or a data set, harmless in HTML and in attributes.
pub(crate) struct Text<T>(pub(crate) T);

impl<T: Display> Display for Text<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(Escaping(f), "{}", self.0)
    }
}

struct Escaping<'a, 'b>(&'a mut Formatter<'b>);

impl Write for Escaping<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            match c {
                '&' => self.0.write_str("&amp;")?,
                '<' => self.0.write_str("&lt;")?,
                '>' => self.0.write_str("&gt;")?,
                '"' => self.0.write_str("&quot;")?,
                '\'' => self.0.write_str("&#39;")?,
                // What turns the direction of text, or is no character of XML.
                '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{FFFE}' | '\u{FFFF}' => {
                    self.0.write_char('\u{FFFD}')?;
                }
                c if c.is_control() => self.0.write_char('\u{FFFD}')?,
                c => self.0.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// A share as a percentage.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// Time over the best one.
pub(crate) fn slowdown(slowdown: Option<f64>) -> String {
    slowdown.map_or_else(|| "unknown".to_owned(), |one| format!("{one:.2}×"))
}

/// The same as part of a sentence, for a task.
pub(crate) fn times_best(slowdown: Option<f64>) -> String {
    slowdown.map_or_else(|| "not measured".to_owned(), |one| format!("{one:.2}× the best time"))
}

/// A time with a fitting unit, to three digits.
pub(crate) fn time(nanoseconds: f64) -> String {
    let (value, unit) = match nanoseconds {
        ..1e3 => (nanoseconds, "ns"),
        ..1e6 => (nanoseconds / 1e3, "µs"),
        ..1e9 => (nanoseconds / 1e6, "ms"),
        _ => (nanoseconds / 1e9, "s"),
    };
    format!("{} {unit}", digits(value))
}

/// Three digits that count; whole numbers whole.
#[must_use]
pub fn digits(value: f64) -> String {
    if value.fract() == 0.0 || value.abs() >= 100.0 {
        return format!("{value:.0}");
    }
    let digits = (2.0 - value.abs().log10().floor()).clamp(0.0, 12.0) as usize;
    let text = format!("{value:.digits$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// `count` and the word, in the plural where it is not one.
pub(crate) fn counted(count: usize, word: &str) -> String {
    if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") }
}

/// The text, its middle left out if it is longer than `most` characters.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.to_owned();
    }
    let head: String = text.chars().take(most / 2).collect();
    let tail: String = text.chars().skip(count - (most - 1 - most / 2)).collect();
    format!("{head}…{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_text_is_markup() {
        let text = Text("<b a='1'>&\"\u{1b}\u{202E}é").to_string();
        assert_eq!(text, "&lt;b a=&#39;1&#39;&gt;&amp;&quot;\u{FFFD}\u{FFFD}é");
    }

    #[test]
    fn numbers_have_three_digits_and_a_unit() {
        assert_eq!(
            [0.5, 12.34, 1234.0, 45_678_912.0, 2e9].map(time),
            ["0.5 ns", "12.3 ns", "1.23 µs", "45.7 ms", "2 s"]
        );
        assert_eq!([100.0, 1000.4, 1.0].map(digits), ["100", "1000", "1"]);
        assert_eq!(shortened("abcdefghij", 6), "abc…ij");
        assert_eq!(shortened("abc", 3), "abc");
    }
}
