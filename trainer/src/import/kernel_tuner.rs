//! Kernel Tuner's cache files: a JSON object an entry, written while tuning goes on.

use std::collections::BTreeMap;
use std::fmt;

use kernels::measurement::{Header, Status};
use selector_core::GemmShape;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value};

use super::{Beta, Format, ImportError, ImportedRow, Name, Part, Source, Told};
use super::{from_milliseconds, json, name, told};
use crate::dataset::{RowCounts, Task};

const NAME: &str = "kernel-tuner";

/// Caches of Kernel Tuner.
pub(super) struct KernelTuner;

impl Format for KernelTuner {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "a cache of Kernel Tuner, finished or not"
    }

    fn recognise(&self, head: &str) -> bool {
        let has = |field| head.contains(field);
        head.trim_start().starts_with('{')
            && (has("\"tune_params_keys\"") || has("\"device_name\"") && has("\"cache\""))
    }

    fn read(&self, source: &Source<'_>, told: &Told) -> Result<Part, ImportError> {
        let mended = json::mend(source.bytes);
        // What the entries need stands before them, but JSON promises no order: two passes.
        let head: Head = json::parse(source, NAME, &mended.text)?;
        let mut reader = Reader::new(source, told, head)?;
        let mut entries = serde_json::Deserializer::from_slice(&mended.text);
        let read = Entries(&mut |key, entry| reader.entry(&key, entry));
        let read = read.deserialize(&mut entries).map_err(|e| json::wrong(source, NAME, &e))?;
        read?;
        if mended.cut {
            reader.counts.read += 1;
            reader.counts.drop_row("cut entry");
        }
        Ok(reader.part())
    }
}

#[derive(Deserialize)]
struct Head {
    device_name: Option<String>,
    kernel_name: Option<String>,
    problem_size: Option<Value>,
    tune_params_keys: Option<Vec<String>>,
    cache: Option<IgnoredAny>,
}

/// Makes rows of entries.
struct Reader<'a> {
    source: &'a Source<'a>,
    told: &'a Told,
    device: String,
    kernel: String,
    parameters: Vec<String>,
    problem_size: String,
    counts: RowCounts,
    rows: Vec<ImportedRow>,
    told_shape: bool,
    begun: Option<String>,
}

impl<'a> Reader<'a> {
    fn new(source: &'a Source<'a>, told: &'a Told, head: Head) -> Result<Self, ImportError> {
        let Head { device_name, kernel_name, problem_size, tune_params_keys, cache } = head;
        let missing = |field: &str| ImportError::MissingField {
            path: source.path.to_owned(),
            field: field.to_owned(),
            option: "",
        };
        cache.ok_or_else(|| missing("cache"))?;
        Ok(Self {
            source,
            told,
            device: told.device(&device_name.unwrap_or_default(), source.path)?,
            kernel: name::part(&kernel_name.ok_or_else(|| missing("kernel_name"))?),
            parameters: tune_params_keys.ok_or_else(|| missing("tune_params_keys"))?,
            problem_size: problem_size
                .map_or_else(|| "unknown".to_owned(), |size| size.to_string()),
            counts: RowCounts::default(),
            rows: Vec::new(),
            told_shape: false,
            begun: None,
        })
    }

    fn entry(&mut self, key: &str, entry: Map<String, Value>) -> Result<(), ImportError> {
        self.counts.read += 1;
        if let Some(Value::String(time)) = entry.get("timestamp") {
            let time = time.trim().replacen(' ', "T", 1);
            self.begun = Some(self.begun.take().map_or(time.clone(), |begun| begun.min(time)));
        }
        let mut parameters = self.parameters(key, &entry)?;
        let shape = self.shape(&mut parameters)?;
        let precision = parameters.get("PRECISION").and_then(|value| told::element(value));
        let element = match precision {
            Some(Ok(element)) => {
                parameters.remove("PRECISION");
                Some(element)
            }
            Some(Err(reason)) => return self.drop_entry(reason),
            None => None,
        };
        let class = self.told.class(element, self.source.path)?;
        if shape.m == 0 || shape.k == 0 || shape.n == 0 || shape.batch == 0 {
            return self.drop_entry("nothing to compute");
        }
        let (status, times) = match self.outcome(&entry) {
            Ok(outcome) => outcome,
            Err(reason) => return self.drop_entry(reason),
        };
        self.rows.push(ImportedRow {
            task: Task { class, shape },
            name: Name::Foreign { kernel: self.kernel.clone(), parameters },
            status,
            times,
            spread: None,
            beta: Beta::Unknown,
            binary_bytes: None,
        });
        Ok(())
    }

    fn drop_entry(&mut self, reason: &'static str) -> Result<(), ImportError> {
        self.counts.drop_row(reason);
        Ok(())
    }

    fn parameters(
        &self,
        key: &str,
        entry: &Map<String, Value>,
    ) -> Result<BTreeMap<String, String>, ImportError> {
        let value = |parameter: &String| {
            let said = entry.get(parameter).map(name::value);
            let value = said.or_else(|| self.told.defaults.get(parameter).cloned());
            let value = value.ok_or_else(|| ImportError::MissingParameter {
                place: format!("`{}`: entry `{key}`", self.source.path.display()),
                kernel: self.kernel.clone(),
                parameter: parameter.clone(),
            })?;
            Ok((name::part(parameter), value))
        };
        self.parameters.iter().map(value).collect()
    }

    /// The shape that `parameters` have in them, else the one told. A size is no parameter of the
    /// kernel, so it is taken out.
    fn shape(
        &mut self,
        parameters: &mut BTreeMap<String, String>,
    ) -> Result<GemmShape, ImportError> {
        let path = self.source.path;
        let named = |wanted: &str| {
            let mut names = parameters.keys();
            names.find(|name| name.eq_ignore_ascii_case(wanted)).cloned()
        };
        let (Some(m), Some(k), Some(n)) = (named("m"), named("k"), named("n")) else {
            self.told_shape = true;
            return self.told.shape.ok_or_else(|| ImportError::NoShape {
                path: path.to_owned(),
                problem_size: self.problem_size.clone(),
            });
        };
        let batch = named("batch");
        let mut take = |field: String| {
            let value = parameters.remove(&field).unwrap_or_default();
            value.parse().map_err(|_| ImportError::Field {
                path: path.to_owned(),
                field,
                value,
                expected: "a whole number below 2^32",
            })
        };
        let batch = batch.map_or(Ok(1), &mut take)?;
        Ok(GemmShape { m: take(m)?, k: take(k)?, n: take(n)?, batch })
    }

    /// How an entry ended and its times in nanoseconds, or why it is dropped.
    fn outcome(&self, entry: &Map<String, Value>) -> Result<(Status, Vec<f64>), &'static str> {
        if let Some(failure) = self.failure(entry) {
            return failure.map(|status| (status, Vec::new()));
        }
        let samples = match (entry.get("times"), entry.get("time")) {
            (Some(Value::Array(samples)), _) if !samples.is_empty() => &samples[..],
            (_, None | Some(Value::Null)) => return Err("no time"),
            (_, Some(time)) => std::slice::from_ref(time),
        };
        let times = samples
            .iter()
            .map(|sample| from_milliseconds(sample.as_f64().unwrap_or(f64::NAN)))
            .collect::<Result<_, _>>()?;
        Ok((Status::Ok, times))
    }

    /// What an entry without a time says: new caches in `__error__`, old ones in place of any
    /// number.
    fn failure(&self, entry: &Map<String, Value>) -> Option<Result<Status, &'static str>> {
        let of_kernel = |field: &String| self.parameters.contains(field);
        let texts = entry.iter().filter_map(|(field, value)| Some((field, value.as_str()?)));
        let mut failures =
            texts.filter(|(field, _)| !of_kernel(field)).filter_map(|(field, text)| {
                Some(match text {
                    "CompilationFailedConfig" => Ok(Status::BuildFailed),
                    "RuntimeFailedConfig" => Ok(Status::LaunchFailed),
                    "InvalidConfig" => Err("never run (InvalidConfig)"),
                    "ErrorConfig" => Err("failed in a way that we do not know"),
                    "" => return None,
                    _ if field == "__error__" => Err("failed in a way that we do not know"),
                    _ if field == "time" => Err("a text in place of a time"),
                    _ => return None,
                })
            });
        failures.next()
    }

    fn part(self) -> Part {
        let header = Header {
            device: self.device,
            date: self.begun.unwrap_or_default(),
            tool: "Kernel Tuner".to_owned(),
            ..Header::default()
        };
        let told_shape = self.told_shape.then_some(self.problem_size);
        Part { header, counts: self.counts, rows: self.rows, class_is_assumed: true, told_shape }
    }
}

type Take<'a> = dyn FnMut(String, Map<String, Value>) -> Result<(), ImportError> + 'a;

/// Hands every entry of the top level's `cache` on, one at a time, up to the first that is refused.
struct Entries<'a, 'b>(&'a mut Take<'b>);

impl<'de> DeserializeSeed<'de> for Entries<'_, '_> {
    type Value = Result<(), ImportError>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Entries<'_, '_> {
    type Value = Result<(), ImportError>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with `cache`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut result = Ok(());
        while let Some(field) = map.next_key::<String>()? {
            if field == "cache" {
                let entries = map.next_value_seed(Cache(&mut *self.0))?;
                result = result.and(entries);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(result)
    }
}

struct Cache<'a, 'b>(&'a mut Take<'b>);

impl<'de> DeserializeSeed<'de> for Cache<'_, '_> {
    type Value = Result<(), ImportError>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Cache<'_, '_> {
    type Value = Result<(), ImportError>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of entries")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut result = Ok(());
        while let Some(key) = map.next_key::<String>()? {
            let entry = map.next_value::<Map<String, Value>>()?;
            if result.is_ok() {
                result = (self.0)(key, entry);
            }
        }
        Ok(result)
    }
}
