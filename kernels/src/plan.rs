//! What to measure: the host's request to a board, `plan.csv`.

use std::io;

use selector_core::{GemmShape, ProblemClass};
use serde::{Deserialize, Serialize};

use crate::{Configuration, ConfigurationError};

/// One measurement to make.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PlanRow {
    /// The problem's sizes.
    pub shape: GemmShape,
    /// The problem's class.
    pub class: ProblemClass,
    /// The configuration to measure.
    pub configuration: Configuration,
    /// Samples to take.
    pub repetitions: u32,
}

/// Why a plan cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// Not CSV, a column is missing, or a value is not a number.
    #[error("not a plan (columns m,k,n,batch,class,configuration,repetitions)")]
    Csv(#[from] csv::Error),
    /// A row names a configuration that this build does not have.
    #[error("line {line}")]
    Configuration {
        /// Line, from 1.
        line: u64,
        /// What is wrong with it.
        source: ConfigurationError,
    },
    /// A row's class is not one, or it asks for no samples.
    #[error("line {line}: {problem}")]
    Row {
        /// Line, from 1.
        line: u64,
        /// What is wrong.
        problem: &'static str,
    },
    /// There is nothing to do.
    #[error("the plan has no rows")]
    Empty,
}

#[derive(Deserialize, Serialize)]
struct Record {
    m: u32,
    k: u32,
    n: u32,
    batch: u32,
    class: String,
    configuration: String,
    repetitions: u32,
}

/// Write a plan as CSV.
///
/// # Errors
/// Those of `writer`.
pub fn write(rows: &[PlanRow], writer: impl io::Write) -> Result<(), csv::Error> {
    let mut csv = csv::Writer::from_writer(writer);
    for row in rows {
        let GemmShape { m, k, n, batch } = row.shape;
        csv.serialize(Record {
            m,
            k,
            n,
            batch,
            class: row.class.to_string(),
            configuration: row.configuration.to_string(),
            repetitions: row.repetitions,
        })?;
    }
    csv.flush()?;
    Ok(())
}

/// Read a plan.
///
/// # Errors
/// [`PlanError`] names the line; a plan is taken whole or not at all.
pub fn read(reader: impl io::Read) -> Result<Vec<PlanRow>, PlanError> {
    let mut csv = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(reader);
    let headers = csv.headers()?.clone();
    let mut rows = Vec::new();
    for record in csv.records() {
        let record = record?;
        let line = record.position().map_or(0, csv::Position::line);
        rows.push(row(record.deserialize(Some(&headers))?, line)?);
    }
    if rows.is_empty() { Err(PlanError::Empty) } else { Ok(rows) }
}

fn row(record: Record, line: u64) -> Result<PlanRow, PlanError> {
    let Record { m, k, n, batch, class, configuration, repetitions } = record;
    let class = class.parse().map_err(|_| PlanError::Row { line, problem: "unknown class" })?;
    if repetitions == 0 {
        return Err(PlanError::Row { line, problem: "repetitions is 0" });
    }
    if [m, k, n, batch].contains(&0) {
        return Err(PlanError::Row { line, problem: "a size is 0: there is nothing to measure" });
    }
    let configuration =
        configuration.parse().map_err(|source| PlanError::Configuration { line, source })?;
    Ok(PlanRow { shape: GemmShape { m, k, n, batch }, class, configuration, repetitions })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_round_trips() {
        let rows = vec![PlanRow {
            shape: GemmShape::new(5, 6, 7, 2),
            class: ProblemClass::F32_NN,
            configuration: "tile:4x8x4@16x16".parse().unwrap(),
            repetitions: 5,
        }];
        let mut bytes = Vec::new();
        write(&rows, &mut bytes).unwrap();
        assert_eq!(read(&bytes[..]).unwrap(), rows);
    }

    #[test]
    fn a_bad_row_is_named_by_its_line() {
        let head = "m,k,n,batch,class,configuration,repetitions\n1,1,1,1,f32-nn,universal,3\n";
        let at = |row: &str| read(format!("{head}{row}\n").as_bytes()).unwrap_err();
        assert!(matches!(
            at("1,1,1,1,f32-nn,tile:3x3x3@1x1,3"),
            PlanError::Configuration { line: 3, .. }
        ));
        assert!(matches!(at("1,1,1,1,f64-nn,universal,3"), PlanError::Row { line: 3, .. }));
        assert!(matches!(at("1,1,1,1,f32-nn,universal,0"), PlanError::Row { line: 3, .. }));
        assert!(matches!(at("1,0,1,1,f32-nn,universal,3"), PlanError::Row { line: 3, .. }));
        assert!(matches!(at("1,1,-1,1,f32-nn,universal,3"), PlanError::Csv(_)));
        assert!(matches!(read("m,k\n1,2\n".as_bytes()), Err(PlanError::Csv(_))));
        let nothing = head.lines().next().unwrap();
        assert!(matches!(read(nothing.as_bytes()), Err(PlanError::Empty)));
    }
}
