//! Names of configurations, ours and others'.

use std::collections::BTreeMap;
use std::fmt;

use kernels::Configuration;
use serde_json::Value;

/// The name of a configuration.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Name {
    /// Another project's kernel with its parameters. As text: `xgemm:KWG=16,MWG=64`, sorted.
    Foreign {
        /// Name of the kernel.
        kernel: String,
        /// Its parameters, values as text.
        parameters: BTreeMap<String, String>,
    },
    /// As it stands.
    Whole(String),
}

impl Name {
    /// Read a name as its `Display` writes it; what does not have that form is taken as it stands.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let foreign = || {
            let (kernel, list) = text.split_once(':')?;
            let pairs = list.split(',').map(|pair| pair.split_once('='));
            let parameters = pairs
                .map(|pair| pair.map(|(name, value)| (name.to_owned(), value.to_owned())))
                .collect::<Option<BTreeMap<_, _>>>()?;
            Some(Self::Foreign { kernel: kernel.to_owned(), parameters })
        };
        let whole = || Self::Whole(text.to_owned());
        // A quoted text may have any of the separators in it.
        if text.contains('"') || text.parse::<Configuration>().is_ok() {
            return whole();
        }
        foreign().filter(|name| name.to_string() == text).unwrap_or_else(whole)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Foreign { kernel, parameters } => {
                let pairs = parameters.iter().map(|(name, value)| format!("{name}={value}"));
                // With its colon even if nothing follows: never one of our own names.
                write!(f, "{kernel}:{}", pairs.collect::<Vec<_>>().join(","))
            }
            Self::Whole(text) => f.write_str(text),
        }
    }
}

/// A part of a name: as it is, or in quotes if it has what separates parts, or controls.
pub(super) fn part(text: &str) -> String {
    let plain = |c: char| !c.is_control() && !matches!(c, ',' | ':' | '=' | '"' | '\\');
    let trimmed = text.trim();
    if !trimmed.is_empty() && trimmed.chars().all(plain) {
        trimmed.to_owned()
    } else {
        Value::from(trimmed).to_string()
    }
}

/// A parameter's value as part of a name; `1.0` is `1`.
pub(super) fn value(value: &Value) -> String {
    match value {
        Value::String(text) => part(text),
        Value::Number(number) => match number.as_f64() {
            Some(real) if number.is_f64() && real.fract() == 0.0 && real.abs() < 1e15 => {
                format!("{real:.0}")
            }
            _ => number.to_string(),
        },
        Value::Array(_) | Value::Bool(_) | Value::Null | Value::Object(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn foreign(kernel: &str, parameters: &[(&str, Value)]) -> Name {
        let parameters = parameters.iter().map(|(name, one)| (part(name), value(one))).collect();
        Name::Foreign { kernel: part(kernel), parameters }
    }

    #[test]
    fn parameters_are_sorted_and_a_name_leads_back_to_them() {
        let one = foreign("xgemm", &[("MWG", json!(64)), ("KWG", json!(16.0))]);
        assert_eq!(one.to_string(), "xgemm:KWG=16,MWG=64");
        assert_eq!(Name::parse("xgemm:KWG=16,MWG=64"), one);
        let unsorted = Name::parse("xgemm:MWG=64,KWG=16");
        assert_eq!(unsorted, Name::Whole("xgemm:MWG=64,KWG=16".to_owned()));
    }

    #[test]
    fn no_foreign_kernel_takes_a_name_of_ours() {
        let name = foreign("universal", &[]).to_string();
        assert_eq!(name, "universal:");
        assert!(name.parse::<Configuration>().is_err());
        let ours = "tile:4x8x4@16x16";
        assert_eq!(Name::parse(ours), Name::Whole(ours.to_owned()));
        assert_eq!(Name::parse("a"), Name::Whole("a".to_owned()));
    }

    #[test]
    fn odd_values_are_quoted_and_stay_distinct() {
        let name = |text: &str| foreign("k", &[("a", json!(text))]).to_string();
        assert_eq!(name("x y"), "k:a=x y");
        assert_eq!(name("1,b=2"), "k:a=\"1,b=2\"");
        assert_eq!(name("\n"), "k:a=\"\"");
        assert_eq!(name("a\nb"), "k:a=\"a\\nb\"");
        assert_eq!(Name::parse(&name("1,b=2")), Name::Whole(name("1,b=2")));
        let real = foreign("k", &[("a", json!(true)), ("b", json!(0.5)), ("c", Value::Null)]);
        assert_eq!(real.to_string(), "k:a=true,b=0.5,c=null");
    }
}
