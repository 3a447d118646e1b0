//! What programs that use CLTune write by its `PrintJSON`.

use super::tuned::{self, Common, Section};
use super::{Format, ImportError, Part, Source, Told, json};

const NAME: &str = "cltune";

/// JSON of CLTune.
pub(super) struct Cltune;

impl Format for Cltune {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "JSON of a tuner made with CLTune"
    }

    fn recognise(&self, head: &str) -> bool {
        let has = |field| head.contains(field);
        head.trim_start().starts_with('{')
            && has("\"results\"")
            && has("\"device\"")
            && !has("\"kernel_family\"")
            && !has("\"sections\"")
    }

    fn read(&self, source: &Source<'_>, told: &Told) -> Result<Part, ImportError> {
        let mended = json::mend(source.bytes);
        let section: Section = json::parse(source, NAME, &mended.text)?;
        let device = told.device(section.device(), source.path)?;
        let mut part = tuned::empty_part(section.header(device, "CLTune"));
        let common = Common { source, told, family: None, needs_precision: false };
        section.add_to(&mut part, &common)?;
        if mended.cut {
            part.counts.read += 1;
            part.counts.drop_row("cut entry");
        }
        Ok(part)
    }
}
