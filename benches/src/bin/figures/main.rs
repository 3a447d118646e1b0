//! Prints the figures that the project claims, each beside its target: `name value target ok`.
//!
//! `figures PART` measures one part; the exit code is 1 if a figure is short of its target.

mod figure;
mod instructions;
mod kernels_part;
mod laps;
mod main_part;
mod programs;
mod runtime_part;
mod selector_part;
mod trainer_part;

use std::path::PathBuf;
use std::process::ExitCode;

use crate::figure::Sheet;

type Part = fn(&mut Sheet) -> anyhow::Result<()>;

/// Every part. To add one: write its file, then name it here.
const PARTS: [(&str, Part); 5] = [
    ("kernels", kernels_part::measure),
    ("main", main_part::measure),
    ("runtime", runtime_part::measure),
    ("selector", selector_part::measure),
    ("trainer", trainer_part::measure),
];

/// Where figures leave what is not printed: raw numbers and programs that are measured.
fn folder() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or("target".into(), PathBuf::from);
    target.join("figures")
}

fn main() -> ExitCode {
    let name = std::env::args().nth(1).unwrap_or_default();
    let mut sheet = Sheet::default();
    let Some((_, part)) = PARTS.iter().find(|(part, _)| *part == name) else {
        let known: Vec<&str> = PARTS.iter().map(|(part, _)| *part).collect();
        sheet.note(&format!("error: no part is called `{name}`; parts: {}", known.join(", ")));
        return ExitCode::from(1);
    };
    match part(&mut sheet) {
        Ok(()) if sheet.all_reached() => ExitCode::SUCCESS,
        Ok(()) => ExitCode::from(1),
        Err(error) => {
            sheet.note(&format!("error: {error:#}"));
            ExitCode::from(2)
        }
    }
}
