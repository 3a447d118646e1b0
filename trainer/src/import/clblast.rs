//! What CLBlast's tuners write, a file a run, and the data base that its scripts gather.

use std::collections::BTreeSet;

use super::tuned::{self, Common, Section};
use super::{Format, ImportError, Part, Source, Told, json};

const NAME: &str = "clblast";

/// So many devices of a data base are listed.
const SHOWN: usize = 12;

/// JSON of CLBlast's tuners.
pub(super) struct Clblast;

impl Format for Clblast {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "JSON of CLBlast's tuners, or their data base"
    }

    fn recognise(&self, head: &str) -> bool {
        let has = |field| head.contains(field);
        head.trim_start().starts_with('{') && (has("\"kernel_family\"") || has("\"sections\""))
    }

    fn read(&self, source: &Source<'_>, told: &Told) -> Result<Part, ImportError> {
        let mended = json::mend(source.bytes);
        let mut section: Section = json::parse(source, NAME, &mended.text)?;
        let mut part = match section.sections.take() {
            Some(sections) => of_sections(sections, source, told)?,
            None => of_section(section, source, told)?,
        };
        if mended.cut {
            part.counts.read += 1;
            part.counts.drop_row("cut entry");
        }
        Ok(part)
    }
}

/// A file of one run: all that it says must fit.
fn of_section(section: Section, source: &Source<'_>, told: &Told) -> Result<Part, ImportError> {
    // CLBlast has a name of its own for a device; the user may mean either.
    let device = match told.device.as_deref().map(str::trim) {
        Some(named) if section.is_of(named) => named.to_owned(),
        _ => told.device(section.device(), source.path)?,
    };
    let family = family(&section);
    let common = Common { source, told, family: Some(family.clone()), needs_precision: true };
    if section.kernel_family.is_none() {
        return Err(common.missing("kernel_family", ""));
    }
    if !multiplies(&family) {
        return Err(ImportError::Family { path: source.path.to_owned(), family });
    }
    let mut part = tuned::empty_part(section.header(device, "CLBlast"));
    section.add_to(&mut part, &common)?;
    Ok(part)
}

/// The data base: sections of one device that multiply matrices are taken.
fn of_sections(
    sections: Vec<Section>,
    source: &Source<'_>,
    told: &Told,
) -> Result<Part, ImportError> {
    let device = chosen_device(&sections, source, told)?;
    let is_chosen = |section: &Section| device == section.device() || section.is_of(&device);
    let first = sections.iter().find(|section| is_chosen(section));
    let header = first.map(|section| section.header(device.clone(), "CLBlast"));
    let mut part = tuned::empty_part(header.unwrap_or_default());
    part.header.device.clone_from(&device);
    for section in sections {
        let (count, family) = (section.len(), family(&section));
        let reason = if !is_chosen(&section) {
            "of another device"
        } else if !multiplies(&family) {
            "of a kernel that multiplies no matrices"
        } else {
            let common = Common { source, told, family: Some(family), needs_precision: true };
            section.add_to(&mut part, &common)?;
            continue;
        };
        part.counts.read += count;
        tuned::drop_all(&mut part.counts, count, reason)?;
    }
    Ok(part)
}

fn chosen_device(
    sections: &[Section],
    source: &Source<'_>,
    told: &Told,
) -> Result<String, ImportError> {
    let names: BTreeSet<&str> = sections.iter().map(Section::device).collect();
    let told_device = told.device.as_deref().map(str::trim).unwrap_or_default();
    if sections.iter().any(|section| section.is_of(told_device)) {
        return Ok(told_device.to_owned());
    }
    let mut devices: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    if devices.len() < 2 {
        return told.device(names.first().copied().unwrap_or_default(), source.path);
    }
    let more = devices.len().saturating_sub(SHOWN);
    devices.truncate(SHOWN);
    if more > 0 {
        devices.push(format!("and {more} more"));
    }
    Err(ImportError::ManyDevices { path: source.path.to_owned(), devices })
}

/// The family without the number that says which of a tuner's searches it was.
fn family(section: &Section) -> String {
    let name = section.kernel_family.as_deref().unwrap_or_default().trim();
    let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    name.split('_').filter(|part| !is_number(part)).collect::<Vec<_>>().join("_")
}

/// Only these are measured at one shape; the routines' tuners write scores in place of times.
fn multiplies(family: &str) -> bool {
    matches!(family, "xgemm" | "xgemm_direct")
}
