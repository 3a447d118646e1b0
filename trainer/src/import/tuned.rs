//! The JSON that CLTune writes and CLBlast's tuners have kept: who, what and how, then `results`.

use std::collections::BTreeMap;

use kernels::measurement::{Header, Status};
use selector_core::{ElementType, GemmShape};
use serde::Deserialize;
use serde_json::{Number, Value};

use super::{Beta, ImportError, ImportedRow, Name, Part, Source, Told};
use super::{from_milliseconds, name, told};
use crate::dataset::{RowCounts, Task};

/// Both write milliseconds with three digits after the point.
const CLOCK_RESOLUTION_NS: u64 = 1000;

/// One run of a tuner: a file, or a section of CLBlast's data base.
#[derive(Debug, Deserialize)]
pub(super) struct Section {
    /// Of the data base, which has nothing else at its top.
    pub(super) sections: Option<Vec<Self>>,
    pub(super) kernel_family: Option<String>,
    device: Option<String>,
    clblast_device_name: Option<String>,
    platform_vendor: Option<String>,
    platform_version: Option<String>,
    precision: Option<Text>,
    arg_m: Option<Text>,
    arg_n: Option<Text>,
    arg_k: Option<Text>,
    arg_batch_count: Option<Text>,
    arg_alpha: Option<Text>,
    arg_beta: Option<Text>,
    parameter_names: Option<Vec<String>>,
    results: Option<Vec<Outcome>>,
}

/// A number, or one in quotes.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Text {
    Number(Number),
    Text(String),
}

/// One configuration's result.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "a result is neither an object nor a list of values and a time")]
enum Outcome {
    /// Of a file.
    Named { kernel: Option<String>, time: Option<f64>, parameters: Option<BTreeMap<String, Value>> },
    /// Of the data base, where the section has the names.
    Listed(String, Option<f64>),
}

/// What all results of a section share.
pub(super) struct Common<'a> {
    pub(super) source: &'a Source<'a>,
    pub(super) told: &'a Told,
    /// The family, where it is not each result that names its kernel.
    pub(super) family: Option<String>,
    /// Whether `precision` must be there.
    pub(super) needs_precision: bool,
}

impl Section {
    /// Name of the device, trimmed; empty if the section does not say.
    pub(super) fn device(&self) -> &str {
        let names = [&self.device, &self.clblast_device_name];
        let mut names = names.into_iter().flatten().map(|name| name.trim());
        names.find(|name| !name.is_empty()).unwrap_or_default()
    }

    /// Whether it was measured on the device of that name.
    pub(super) fn is_of(&self, device: &str) -> bool {
        let names = [&self.device, &self.clblast_device_name];
        names.into_iter().flatten().any(|name| name.trim() == device)
    }

    pub(super) fn len(&self) -> usize {
        self.results.as_ref().map_or(0, Vec::len)
    }

    /// The header of a part with this section.
    pub(super) fn header(&self, device: String, tool: &str) -> Header {
        let platform = [&self.platform_version, &self.platform_vendor];
        let platform = platform.into_iter().flatten().find(|text| !text.trim().is_empty());
        Header {
            device,
            platform: platform.cloned().unwrap_or_default(),
            clock_resolution_ns: Some(CLOCK_RESOLUTION_NS),
            tool: tool.to_owned(),
            ..Header::default()
        }
    }

    /// Add the results to `part`.
    pub(super) fn add_to(self, part: &mut Part, common: &Common<'_>) -> Result<(), ImportError> {
        let count = self.len();
        part.counts.read += count;
        let precision = self.precision.as_ref().map(Text::text);
        if common.needs_precision && precision.is_none() && common.told.class.is_none() {
            return Err(common.missing("precision", "--class"));
        }
        let element = match precision.as_deref().map(|text| common.element("precision", text)) {
            None => None,
            Some(element) => match element? {
                Ok(element) => Some(element),
                Err(reason) => return drop_all(&mut part.counts, count, reason),
            },
        };
        let (alpha, beta) = (scalar(&self.arg_alpha, "arg_alpha", common)?, self.beta(common)?);
        if alpha == Some(0.0) {
            return drop_all(&mut part.counts, count, "alpha 0: nothing is multiplied");
        }
        let shape = self.shape(part, common)?;
        if shape.m == 0 || shape.k == 0 || shape.n == 0 || shape.batch == 0 {
            return drop_all(&mut part.counts, count, "nothing to compute");
        }
        let Self { results, parameter_names, .. } = self;
        let names = parameter_names.unwrap_or_default();
        for outcome in results.ok_or_else(|| common.missing("results", ""))? {
            let (kernel, time, parameters) = outcome.named(&names, common)?;
            match common.row(kernel, time, parameters, element)? {
                Ok((name, class, time)) => part.rows.push(ImportedRow {
                    task: Task { class, shape },
                    name,
                    status: Status::Ok,
                    times: vec![time],
                    spread: None,
                    beta,
                    binary_bytes: None,
                }),
                Err(reason) => part.counts.drop_row(reason),
            }
        }
        Ok(())
    }

    fn beta(&self, common: &Common<'_>) -> Result<Beta, ImportError> {
        Ok(match scalar(&self.arg_beta, "arg_beta", common)? {
            None => Beta::Unknown,
            Some(0.0) => Beta::Zero,
            Some(_) => Beta::Other,
        })
    }

    /// The sizes that the section says, the others as the user tells.
    fn shape(&self, part: &mut Part, common: &Common<'_>) -> Result<GemmShape, ImportError> {
        let whole = |text: &Text, field: &str| {
            let text = text.text();
            text.parse().map_err(|_| common.field(field, &text, "a whole number below 2^32"))
        };
        let told = common.told.shape;
        let size = |text: &Option<Text>, field: &str, told: Option<u32>| match text {
            Some(text) => whole(text, field),
            None => told.ok_or_else(|| common.missing(field, "--shape")),
        };
        let m = size(&self.arg_m, "arg_m", told.map(|shape| shape.m))?;
        let k = size(&self.arg_k, "arg_k", told.map(|shape| shape.k))?;
        let n = size(&self.arg_n, "arg_n", told.map(|shape| shape.n))?;
        let all_said = [&self.arg_m, &self.arg_k, &self.arg_n].iter().all(|text| text.is_some());
        let told = told.filter(|_| !all_said);
        if told.is_some() {
            part.told_shape = Some("unknown".to_owned());
        }
        let batch = match &self.arg_batch_count {
            Some(text) => whole(text, "arg_batch_count")?,
            None => told.map_or(1, |shape| shape.batch),
        };
        Ok(GemmShape { m, k, n, batch })
    }
}

/// A part without results yet.
pub(super) fn empty_part(header: Header) -> Part {
    Part {
        header,
        counts: RowCounts::default(),
        rows: Vec::new(),
        class_is_assumed: true,
        told_shape: None,
    }
}

/// Count `count` results as dropped.
pub(super) fn drop_all(
    counts: &mut RowCounts,
    count: usize,
    reason: &'static str,
) -> Result<(), ImportError> {
    (0..count).for_each(|_| counts.drop_row(reason));
    Ok(())
}

impl Text {
    fn text(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text.trim().to_owned(),
        }
    }
}

impl Outcome {
    #[expect(clippy::type_complexity, reason = "used once, below")]
    fn named(
        self,
        names: &[String],
        common: &Common<'_>,
    ) -> Result<(Option<String>, Option<f64>, BTreeMap<String, Value>), ImportError> {
        match self {
            Self::Named { kernel, time, parameters } => {
                let parameters = parameters.ok_or_else(|| common.missing("parameters", ""))?;
                Ok((kernel, time, parameters))
            }
            Self::Listed(values, time) => {
                let list: Vec<_> = values.split(',').map(|one| Value::from(one.trim())).collect();
                if list.len() != names.len() {
                    let expected = "a value for each of `parameter_names`";
                    return Err(common.field("results", &values, expected));
                }
                Ok((None, time, names.iter().cloned().zip(list).collect()))
            }
        }
    }
}

type RowOrReason = Result<(Name, selector_core::ProblemClass, f64), &'static str>;

impl Common<'_> {
    fn row(
        &self,
        kernel: Option<String>,
        time: Option<f64>,
        mut parameters: BTreeMap<String, Value>,
        element: Option<ElementType>,
    ) -> Result<RowOrReason, ImportError> {
        // Every result says again what the section says.
        let precision = parameters.remove("PRECISION").map(|value| name::value(&value));
        let element = match precision.map(|text| self.element("PRECISION", &text)) {
            None => element,
            Some(again) => match again? {
                Ok(again) if element.is_none_or(|element| element == again) => Some(again),
                Ok(_) => return Ok(Err("of another precision than its file")),
                Err(reason) => return Ok(Err(reason)),
            },
        };
        let class = self.told.class(element, self.source.path)?;
        let kernel = self.family.clone().or(kernel).ok_or_else(|| self.missing("kernel", ""))?;
        let time = match time.ok_or("no time").and_then(from_milliseconds) {
            Ok(time) => time,
            Err(reason) => return Ok(Err(reason)),
        };
        let parameters = parameters.iter().map(|(key, one)| (name::part(key), name::value(one)));
        let name = Name::Foreign { kernel: name::part(&kernel), parameters: parameters.collect() };
        Ok(Ok((name, class, time)))
    }

    fn element(
        &self,
        field: &str,
        text: &str,
    ) -> Result<Result<ElementType, &'static str>, ImportError> {
        told::element(text).ok_or_else(|| self.field(field, text, "16, 32, 64, 3232 or 6464"))
    }

    pub(super) fn missing(&self, field: &str, option: &'static str) -> ImportError {
        let path = self.source.path.to_owned();
        ImportError::MissingField { path, field: field.to_owned(), option }
    }

    fn field(&self, field: &str, value: &str, expected: &'static str) -> ImportError {
        let (field, value) = (field.to_owned(), value.to_owned());
        ImportError::Field { path: self.source.path.to_owned(), field, value, expected }
    }
}

fn scalar(
    text: &Option<Text>,
    field: &str,
    common: &Common<'_>,
) -> Result<Option<f64>, ImportError> {
    let Some(text) = text.as_ref().map(Text::text) else { return Ok(None) };
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(Some(number)),
        _ => Err(common.field(field, &text, "a number")),
    }
}
