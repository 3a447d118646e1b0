//! Kernel families. To add one: write `cl/<family>.cl` and `families/<family>.rs`, then append it
//! to [`ALL`]. The position there is the family's number in models, so nothing is ever removed or
//! moved.

mod local;
mod packed;
mod parted;
mod skinny;
mod split;
mod subgroup;
mod tile;
mod universal;

use selector_core::{ElementType, Precision, ProblemClass};

use crate::{CheckedProblem, Configuration, Launches, Limits, Misfit, Program};

/// One OpenCL source with parameters.
pub trait Family: Send + Sync {
    /// The name before the colon of a configuration.
    fn name(&self) -> &'static str;

    /// The OpenCL C source, without what is set by build options.
    fn source(&self) -> &'static str;

    /// The form of the parameters and the values allowed, for error messages.
    fn expected(&self) -> &'static str;

    /// Read parameters as [`Self::write`] writes them; `None` if they do not have that form.
    fn parse(&self, text: &str) -> Option<Vec<u16>>;

    /// The parameters as text; empty if there are none.
    fn write(&self, parameters: &[u16]) -> String;

    /// Whether these are parameters of the family.
    fn allows(&self, parameters: &[u16]) -> bool;

    /// Every parameter list worth measuring, in a fixed order.
    fn space(&self) -> Vec<Vec<u16>>;

    /// The program that has the kernel.
    fn program(&self, parameters: &[u16], class: ProblemClass) -> Program;

    /// Launches that together compute all of C: one step, or several where a function needs what
    /// another has written ([`Launches`]).
    fn launches(&self, parameters: &[u16], problem: &CheckedProblem) -> Launches;

    /// Bytes of scratch memory that [`Self::launches`] write and read; only a program whose functions
    /// take it may want any. Saturates: it is asked about problems that no device holds, too.
    fn scratch(&self, _parameters: &[u16], _problem: &CheckedProblem) -> u64 {
        0
    }

    /// Parts that k is split into, at least 1; given to functions that take scratch memory.
    fn parts(&self, _parameters: &[u16], _problem: &CheckedProblem) -> u32 {
        1
    }

    /// Work-items of a work-group that multiplies, along columns, rows and batch.
    fn work_group(&self, parameters: &[u16]) -> [u64; 3];

    /// Work-items of the largest work-group of any function.
    fn largest_group(&self, parameters: &[u16]) -> u64 {
        self.work_group(parameters).iter().product()
    }

    /// Columns and rows of C that a work-item computes, and steps along k that it takes at once.
    fn item(&self, parameters: &[u16]) -> [u64; 3];

    /// Whether a device with these limits can run the kernel.
    ///
    /// # Errors
    /// [`Misfit`] names the limit.
    fn fits(&self, parameters: &[u16], limits: &Limits) -> Result<(), Misfit> {
        limits.check_work_group(self.work_group(parameters))
    }
}

/// Every family, by its number in models. Append only.
pub static ALL: &[&dyn Family] = &[
    UNIVERSAL,
    &tile::Tile,
    &local::Local,
    &split::Split,
    &skinny::Skinny,
    &packed::Packed,
    &subgroup::Subgroup,
];

/// The family of the universal kernel.
pub(crate) static UNIVERSAL: &dyn Family = &universal::Universal;

/// The family called `name`.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static dyn Family> {
    ALL.iter().copied().find(|family| family.name() == name)
}

/// The family with this number in models.
#[must_use]
pub fn by_number(number: u8) -> Option<&'static dyn Family> {
    ALL.get(usize::from(number)).copied()
}

/// The family's number in models.
pub(crate) fn number_of(family: &dyn Family) -> u8 {
    ALL.iter().position(|one| one.name() == family.name()).map_or(u8::MAX, |at| at as u8)
}

/// The names of all families, separated by commas.
pub(crate) fn names() -> String {
    ALL.iter().map(|family| family.name()).collect::<Vec<_>>().join(", ")
}

/// Every configuration of `family` worth measuring.
pub(crate) fn configurations(family: &'static dyn Family) -> Vec<Configuration> {
    let lists = family.space().into_iter();
    lists.filter_map(|parameters| Configuration::new(family, parameters).ok()).collect()
}

/// Build options that fix the class: transposes, 16-bit elements, and whether short runs along k may be
/// multiplied and added in 16 bits, which a source does only where the device has `cl_khr_fp16`.
fn class_options(class: ProblemClass) -> String {
    let flag = |set: bool| u8::from(set);
    format!(
        "-DTRANSPOSE_A={} -DTRANSPOSE_B={} -DHALF={} -DNATIVE={}",
        flag(class.transposes.a()),
        flag(class.transposes.b()),
        flag(class.element() == ElementType::F16),
        flag(class.precision == Precision::F16Half)
    )
}
