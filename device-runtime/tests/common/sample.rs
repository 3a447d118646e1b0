//! A few configurations of every family, so that a new family is tested without a line more.

use kernels::{Configuration, families, space};

/// The universal kernel and, of each other family, up to `count` configurations spread over its starter set.
pub(crate) fn of_every_family(count: usize) -> Vec<Configuration> {
    let starter = space::starter();
    let mut sample = Vec::new();
    for family in families::ALL {
        let own: Vec<_> =
            starter.iter().filter(|one| one.family().name() == family.name()).cloned().collect();
        if own.is_empty() {
            assert_eq!(family.name(), "universal", "no starter configuration");
            sample.push(Configuration::universal());
        }
        let step = own.len().div_ceil(count).max(1);
        sample.extend(own.into_iter().step_by(step));
    }
    sample
}
