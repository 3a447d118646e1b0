//! Kernel lists whose binaries fit a number of bytes.

use std::collections::BTreeMap;

use kernels::Configuration;
use selector_core::ProblemClass;

use crate::dataset::Dataset;

/// Bytes that the binaries of a kernel list may take, and what each takes.
///
/// Counted are the programs of every class that was measured, each once however many
/// configurations share it, and the universal kernel's if the data set says its size.
#[derive(Clone, Debug)]
pub struct Budget {
    bytes: u64,
    universal: Option<u64>,
    /// Bytes of each program.
    sizes: Vec<u64>,
    /// For each column of the data set its programs, unless the size of one is unknown.
    programs: Vec<Option<Vec<usize>>>,
}

/// Why a budget cannot be kept.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BudgetError {
    /// No size is known.
    #[error("the data set does not say what binaries take: no column `binary_bytes` with a value")]
    NoSizes,
    /// Not even one kernel fits.
    #[error(
        "no kernel fits {bytes} bytes: the smallest, `{configuration}`, takes {least}{}",
        with_universal(*.universal)
    )]
    NothingFits {
        /// The budget.
        bytes: u64,
        /// The configuration that takes least.
        configuration: String,
        /// What it takes, without the universal kernel.
        least: u64,
        /// What the universal kernel takes, if known.
        universal: Option<u64>,
    },
}

fn with_universal(bytes: Option<u64>) -> String {
    bytes.map_or_else(String::new, |bytes| format!(" beside the universal kernel's {bytes}"))
}

impl Budget {
    /// A budget of `bytes` for lists of configurations of `dataset`.
    ///
    /// # Errors
    /// [`BudgetError`]; past it, there is a list that fits.
    pub fn new(dataset: &Dataset, bytes: u64) -> Result<Self, BudgetError> {
        let classes = dataset.classes();
        let names = dataset.configurations();
        let known = sizes(dataset, &classes);
        let place: BTreeMap<&String, usize> = known.keys().zip(0..).collect();
        let programs_of = |name: &String| {
            let program = |class: &ProblemClass| place.get(&program_name(name, *class)).copied();
            classes.iter().map(program).collect::<Option<Vec<usize>>>()
        };
        let universal = Configuration::universal().to_string();
        let of_universal = |class: &ProblemClass| dataset.binary_bytes(&universal, *class);
        let budget = Self {
            bytes,
            universal: classes.iter().map(of_universal).sum::<Option<u64>>(),
            sizes: known.values().copied().collect(),
            programs: names.iter().map(programs_of).collect(),
        };
        let single = |column: usize| Some((budget.bytes_of(column)?, column));
        let least = (0..names.len()).filter_map(single).min().ok_or(BudgetError::NoSizes)?;
        if budget.used(&[least.1]) <= bytes {
            return Ok(budget);
        }
        let (least, column) = least;
        let (configuration, universal) = (names[column].clone(), budget.universal);
        Err(BudgetError::NothingFits { bytes, configuration, least, universal })
    }

    /// The budget.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The same sizes under another budget, which may be too small for any list.
    #[must_use]
    pub fn with_bytes(&self, bytes: u64) -> Self {
        Self { bytes, ..self.clone() }
    }

    /// Bytes of the universal kernel, if the data set says them.
    #[must_use]
    pub fn universal(&self) -> Option<u64> {
        self.universal
    }

    /// Configurations that cannot be chosen, since the size of a program is unknown.
    #[must_use]
    pub fn unknown(&self) -> usize {
        self.programs.iter().filter(|programs| programs.is_none()).count()
    }

    /// Distinct programs of a list, without the universal kernel's.
    #[must_use]
    pub fn programs(&self, kernels: &[usize]) -> usize {
        self.distinct(kernels).len()
    }

    /// Bytes of a list, with the universal kernel's if they are known.
    #[must_use]
    pub fn used(&self, kernels: &[usize]) -> u64 {
        let programs = self.distinct(kernels);
        let sum: u64 = programs.iter().map(|program| self.sizes[*program]).sum();
        sum.saturating_add(self.universal.unwrap_or(0))
    }

    fn distinct(&self, kernels: &[usize]) -> Vec<usize> {
        let programs = kernels.iter().filter_map(|kernel| self.programs[*kernel].as_ref());
        let mut programs: Vec<usize> = programs.flatten().copied().collect();
        programs.sort_unstable();
        programs.dedup();
        programs
    }

    /// Bytes of a configuration's programs, if they are known.
    fn bytes_of(&self, column: usize) -> Option<u64> {
        let programs = self.programs[column].as_ref()?;
        Some(programs.iter().map(|program| self.sizes[*program]).sum())
    }
}

/// The largest size told of each program, by its name.
fn sizes(dataset: &Dataset, classes: &[ProblemClass]) -> BTreeMap<String, u64> {
    let mut sizes = BTreeMap::new();
    for name in dataset.configurations() {
        for class in classes {
            // No binary is empty.
            if let Some(bytes @ 1..) = dataset.binary_bytes(name, *class) {
                let largest = sizes.entry(program_name(name, *class)).or_default();
                *largest = bytes.max(*largest);
            }
        }
    }
    sizes
}

/// The name of a configuration's program; another project's has one of its own.
fn program_name(configuration: &str, class: ProblemClass) -> String {
    let ours = configuration.parse::<Configuration>();
    ours.map_or_else(|_| format!("{configuration}/{class}"), |ours| ours.program(class).name)
}

/// How much a list may still grow.
pub(super) struct Room<'a> {
    /// Most kernels.
    pub(super) count: usize,
    /// Bytes of binaries, if they are limited.
    pub(super) budget: Option<&'a Budget>,
}

impl Room<'_> {
    /// Bytes that `kernel` adds to the list; `None` if it is there or does not fit.
    pub(super) fn bytes_of(&self, kernels: &[usize], kernel: usize) -> Option<u64> {
        if kernels.len() >= self.count || kernels.contains(&kernel) {
            return None;
        }
        let Some(budget) = self.budget else { return Some(0) };
        budget.bytes_of(kernel)?;
        let with = budget.used(&[kernels, &[kernel]].concat());
        (with <= budget.bytes).then(|| with - budget.used(kernels))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::path::Path;

    use kernels::measurement::{Header, Status};
    use selector_core::GemmShape;

    use super::*;
    use crate::dataset::{Measurement, RowCounts, Task};

    /// One shape, on which all take the same time.
    pub(crate) fn dataset(sizes: &[(&str, Option<u64>)]) -> Dataset {
        let task = Task { class: ProblemClass::F32_NN, shape: GemmShape::new(8, 8, 8, 1) };
        let row = |(name, binary_bytes): &(&str, Option<u64>)| Measurement {
            task,
            configuration: (*name).to_owned(),
            status: Status::Ok,
            times: vec![1.0],
            spread: None,
            binary_bytes: *binary_bytes,
        };
        let rows = sizes.iter().map(row).collect();
        let (header, counts) = (Header::default(), RowCounts::default());
        Dataset::from_measurements(Path::new("x"), header, counts, rows).unwrap()
    }

    #[test]
    fn a_program_is_counted_once_at_its_largest_and_the_universal_kernel_if_it_is_known() {
        let tile = |name: &'static str, bytes| (name, Some(bytes));
        let mut sizes = vec![
            tile("tile:1x1x1@8x8", 100),
            tile("tile:1x1x1@16x16", 130),
            tile("tile:2x2x2@8x8", 50),
            tile("xgemm:a=1", 7),
        ];
        let budget = Budget::new(&dataset(&sizes), 1000).unwrap();
        assert_eq!([&[0, 1][..], &[0, 2], &[3]].map(|list| budget.used(list)), [130, 180, 7]);
        assert_eq!((budget.programs(&[0, 1, 2]), budget.universal()), (2, None));
        sizes.push(tile("universal", 40));
        let budget = Budget::new(&dataset(&sizes), 1000).unwrap();
        assert_eq!((budget.used(&[0, 1]), budget.universal()), (170, Some(40)));
    }

    #[test]
    fn a_budget_that_nothing_fits_names_the_smallest() {
        let data = dataset(&[("a", Some(100)), ("b", Some(60)), ("universal", Some(40))]);
        assert!(Budget::new(&data, 100).is_ok());
        let said = Budget::new(&data, 99).unwrap_err().to_string();
        let expected = "no kernel fits 99 bytes: the smallest, `b`, takes 60 beside the universal \
                        kernel's 40";
        assert_eq!(said, expected);
    }

    #[test]
    fn without_sizes_there_is_no_budget_and_without_one_a_configuration_is_left_out() {
        let none = Budget::new(&dataset(&[("a", None), ("b", None)]), 100).unwrap_err();
        assert_eq!(none, BudgetError::NoSizes);
        let budget = Budget::new(&dataset(&[("a", None), ("b", Some(1))]), 100).unwrap();
        let room = Room { count: 2, budget: Some(&budget) };
        assert_eq!(budget.unknown(), 1);
        assert_eq!([0, 1].map(|kernel| room.bytes_of(&[], kernel)), [None, Some(1)]);
    }
}
