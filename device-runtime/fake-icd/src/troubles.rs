//! Everything that a script can let go wrong, one at a time, for tests that go over all of it.

use crate::script::{Clock, FUNCTIONS, Fault, Oddity, RESULT, Rule, Script, StaleBinaries, Time};

/// A script by which one thing is not as it should be.
pub struct Trouble {
    /// What that is.
    pub name: String,
    /// The script.
    pub script: Script,
}

impl Trouble {
    fn new(name: impl Into<String>, script: Script) -> Self {
        Self { name: name.into(), script }
    }

    /// Whether something does not come back, so that a limit has to end it.
    #[must_use]
    pub fn hangs(&self) -> bool {
        self.script.rules.iter().any(|rule| rule.does == Fault::Hang)
    }

    /// Whether every result is wrong.
    #[must_use]
    pub fn is_wrong(&self) -> bool {
        self.script.rules.iter().any(|rule| rule.does == Fault::Wrong)
    }
}

/// Every trouble: each [fault](Fault::ALL) at each [function](FUNCTIONS), each oddity of the clock, what becomes of
/// binaries, and devices that are not there, alike, or poor.
#[must_use]
pub fn troubles() -> Vec<Trouble> {
    let mut all = of_calls();
    all.extend(of_clocks());
    all.extend(of_devices());
    all
}

fn of_calls() -> Vec<Trouble> {
    let mut all = Vec::new();
    for does in Fault::ALL {
        // What lasts longer does so a few times: some functions are called thousands of times.
        let rule = |at| match does {
            Fault::DelayMs(_) => Rule::new(at, does).times(8),
            _ => Rule::new(at, does),
        };
        let places = if does == Fault::Wrong { &[RESULT] } else { FUNCTIONS };
        for at in places {
            all.push(Trouble::new(format!("{does:?} at {at}"), Script::default().with(rule(at))));
        }
    }
    all
}

fn of_clocks() -> Vec<Trouble> {
    let well = Clock::default;
    let mut clocks: Vec<_> = Oddity::ALL
        .iter()
        .map(|oddity| (format!("{oddity:?}"), Clock { oddity: Some(*oddity), ..well() }))
        .collect();
    // A new field is a new way to be odd: it belongs here.
    let Clock { step_ns: _, told_ns: _, gap_ns: _, oddity: _, of: _, refuses_profiling: _ } =
        well();
    clocks.extend([
        ("a clock that stands still".to_owned(), Clock { step_ns: 1 << 40, ..well() }),
        ("a coarse clock".to_owned(), Clock { step_ns: 1_000_000, gap_ns: 0, ..well() }),
        ("a clock without steps".to_owned(), Clock { told_ns: 0, ..well() }),
        ("no times".to_owned(), Clock { refuses_profiling: true, ..well() }),
    ]);
    let mut all: Vec<_> = clocks
        .into_iter()
        .map(|(name, clock)| Trouble::new(name, Script { clock, ..Script::default() }))
        .collect();
    let of = String::new();
    let times = vec![Time { of: of.clone(), shape: of, ns: 0 }];
    all.push(Trouble::new("launches that take no time", Script { times, ..Script::default() }));
    all
}

fn of_devices() -> Vec<Trouble> {
    let well = Script::default;
    // A new field is a new way to be odd: it belongs here, or above.
    let Script {
        platform: _,
        no_platform: _,
        platform_delay_ms: _,
        devices: _,
        compute_units: _,
        vendor: _,
        driver: _,
        version: _,
        extensions: _,
        memory: _,
        largest_buffer: _,
        local_memory: _,
        work_group: _,
        stale_binaries: _,
        lazy_kernels: _,
        loose_sub_buffers: _,
        clock: _,
        times: _,
        paced: _,
        rules: _,
    } = well();
    let none = String::new;
    let updated = |stale_binaries| Script { driver: "2.0".to_owned(), stale_binaries, ..well() };
    let mut all: Vec<_> = StaleBinaries::ALL
        .iter()
        .map(|stale| Trouble::new(format!("old binaries: {stale:?}"), updated(*stale)))
        .collect();
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    all.extend([
        Trouble::new("no platform", Script { no_platform: true, ..well() }),
        Trouble::new("a slow platform", Script { platform_delay_ms: 300, ..well() }),
        Trouble::new("no device", Script { devices: Vec::new(), ..well() }),
        Trouble::new("twins", Script { devices: names(&["Mali", "Mali "]), ..well() }),
        Trouble::new(
            "no names",
            Script {
                platform: none(),
                devices: names(&[""]),
                vendor: none(),
                driver: none(),
                version: none(),
                ..well()
            },
        ),
        Trouble::new("no compute units", Script { compute_units: vec![0], ..well() }),
        Trouble::new(
            "16-bit arithmetic",
            Script { extensions: "cl_khr_fp16".to_owned(), ..well() },
        ),
        Trouble::new(
            "sub-groups",
            Script {
                extensions: "cl_intel_subgroups cl_intel_required_subgroup_size".to_owned(),
                ..well()
            },
        ),
        Trouble::new("no memory", Script { memory: 0, ..well() }),
        Trouble::new("little memory", Script { memory: 4096, ..well() }),
        Trouble::new("no buffers", Script { largest_buffer: 0, ..well() }),
        Trouble::new("small buffers", Script { largest_buffer: 4096, ..well() }),
        Trouble::new("no local memory", Script { local_memory: 0, ..well() }),
        Trouble::new("no work-groups", Script { work_group: 0, ..well() }),
        Trouble::new("one work-item", Script { work_group: 1, ..well() }),
        Trouble::new("kernels compiled late", Script { lazy_kernels: true, ..well() }),
        Trouble::new("loose sub-buffers", Script { loose_sub_buffers: true, ..well() }),
        Trouble::new("launches that last", Script { paced: true, ..well() }),
    ]);
    all
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use serde::de::DeserializeOwned;

    use super::*;

    /// The names of a type's variants, as its reader lists them.
    fn variants<T: DeserializeOwned>() -> BTreeSet<String> {
        let refused = serde_json::from_str::<T>(r#""none of them""#).err().unwrap().to_string();
        let listed = refused.split("expected one of ").nth(1).unwrap();
        listed.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    }

    fn names(values: &[impl serde::Serialize]) -> BTreeSet<String> {
        let name = |value| match serde_json::to_value(value).unwrap() {
            serde_json::Value::Object(fields) => fields.keys().next().unwrap().clone(),
            other => other.as_str().unwrap().to_owned(),
        };
        values.iter().map(name).collect()
    }

    #[test]
    fn every_fault_is_gone_over_and_every_function_that_meets_one() {
        assert_eq!(names(&Fault::ALL), variants::<Fault>());
        assert_eq!(names(&Oddity::ALL), variants::<Oddity>());
        assert_eq!(names(&StaleBinaries::ALL), variants::<StaleBinaries>());
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/api");
        let mut met = BTreeSet::new();
        for file in fs::read_dir(folder).unwrap() {
            let text = fs::read_to_string(file.unwrap().path()).unwrap();
            let words = text.split('"').skip(1).step_by(2);
            met.extend(words.filter(|word| word.starts_with("cl")).map(str::to_owned));
        }
        met.remove("cl_khr_icd");
        let listed: BTreeSet<_> = FUNCTIONS.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(listed, met);
        let all = troubles();
        assert!(all.len() > FUNCTIONS.len() * (Fault::ALL.len() - 1));
        let different: BTreeSet<_> = all.iter().map(|one| &one.name).collect();
        assert_eq!(different.len(), all.len());
    }
}
