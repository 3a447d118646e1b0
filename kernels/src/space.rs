//! The kernel space: every configuration worth measuring, and a hash that says which one it is.

use std::sync::OnceLock;

use selector_core::{GemmShape, Precision, ProblemClass, Transposes};
use sha2::{Digest, Sha256};

use crate::families;
use crate::{CheckedProblem, Configuration, Problem};

/// Shapes whose launches are part of the hash: tiles that divide and that do not, a long k, few rows and
/// few columns, a batch.
const SHAPES: [GemmShape; 5] = [
    GemmShape::new(512, 512, 512, 1),
    GemmShape::new(37, 293, 41, 3),
    GemmShape::new(64, 12_544, 64, 1),
    GemmShape::new(1, 4096, 1000, 1),
    GemmShape::new(1000, 4096, 1, 1),
];

/// Every configuration but the universal kernel, family by family, in a fixed order.
#[must_use]
pub fn all() -> Vec<Configuration> {
    let shipped = families::ALL.iter().skip(1);
    shipped.flat_map(|family| families::configurations(*family)).collect()
}

/// At most 200 configurations of all families: what to measure where there is no time for all. Most were
/// drawn from measurements, as the file says; those of `subgroup` were picked without any, so that each way
/// of computing is there. Those of a family come together; of a family that was measured, those that add
/// most come first.
#[must_use]
pub fn starter() -> Vec<Configuration> {
    let lines = include_str!("../starter.txt").lines().map(str::trim);
    let named = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    named.filter_map(|line| line.parse().ok()).collect()
}

/// The hash of everything that measurements depend on: sources, names of configurations, the options
/// that they are built with, their functions, and how they are launched. Measurements with different
/// hashes do not mix.
#[must_use]
pub fn hash() -> u64 {
    static HASH: OnceLock<u64> = OnceLock::new();
    *HASH.get_or_init(|| {
        let sources = families::ALL.iter().flat_map(|family| [family.name(), family.source()]);
        let problems = problems();
        let configurations = std::iter::once(Configuration::universal()).chain(all());
        let built = configurations.flat_map(|one| texts_of(&one, &problems));
        hash_of(sources.map(str::to_owned).chain(built))
    })
}

/// Problems whose launches are part of the hash: [`SHAPES`] as they are and with both inputs transposed,
/// since work-groups may lie along what memory runs along.
fn problems() -> Vec<CheckedProblem> {
    let classes =
        [Transposes::Nn, Transposes::Tt].map(|one| ProblemClass::new(Precision::F32, one));
    let problem = |class, shape| Problem::packed(class, shape).check(u64::MAX, u64::MAX, u64::MAX);
    let each = classes.into_iter().flat_map(|class| SHAPES.map(|shape| problem(class, shape)));
    each.filter_map(Result::ok).collect()
}

/// A configuration's name, what it is built from and with, and how it is launched.
fn texts_of(configuration: &Configuration, problems: &[CheckedProblem]) -> [String; 4] {
    let program = configuration.program(ProblemClass::F32_NN);
    let group = configuration.family().work_group(configuration.parameters());
    let largest = configuration.work_group();
    let item = configuration.item();
    let geometry = problems.iter().map(|problem| {
        let (parts, bytes) = (configuration.parts(problem), configuration.scratch(problem));
        format!("{parts} {bytes} {:?};", configuration.launches(problem))
    });
    let geometry: String = geometry.collect();
    let functions = format!("{:?} {}", program.functions, program.scratch);
    let launched = format!("{group:?} {largest} {item:?} {geometry}");
    [configuration.to_string(), program.options, functions, launched]
}

/// The hash of texts and of where each ends.
fn hash_of(texts: impl Iterator<Item = String>) -> u64 {
    let mut digest = Sha256::new();
    for text in texts {
        digest.update((text.len() as u64).to_le_bytes());
        digest.update(text);
    }
    let hash = digest.finalize();
    hash.iter().take(8).fold(0, |sum, byte| (sum << 8) | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn names_of(configurations: &[Configuration]) -> Vec<String> {
        configurations.iter().map(Configuration::to_string).collect()
    }

    #[test]
    fn the_first_papers_640_configurations_come_from_64_programs_a_class() {
        let tile: Vec<_> = all().into_iter().filter(|one| one.family().name() == "tile").collect();
        assert_eq!(tile.len(), 640);
        let names = names_of(&tile);
        assert_eq!(names[0], "tile:1x1x1@1x64");
        assert_eq!(names[13], "tile:1x1x2@8x16");
        assert_eq!(names[639], "tile:8x8x8@128x1");
        for class in ProblemClass::all() {
            let programs: Vec<_> = tile.iter().map(|one| one.program(class)).collect();
            let names: BTreeSet<_> = programs.iter().map(|program| &program.name).collect();
            let options: BTreeSet<_> = programs.iter().map(|program| &program.options).collect();
            assert_eq!((names.len(), options.len()), (64, 64), "{class}");
            assert!(names.contains(&format!("tile:4x8x2/{class}")));
        }
    }

    #[test]
    fn every_configuration_has_one_name_and_is_read_back_from_it() {
        let all = all();
        let names: BTreeSet<_> = names_of(&all).into_iter().collect();
        assert_eq!(names.len(), all.len());
        for (name, one) in names_of(&all).iter().zip(&all) {
            assert_eq!(name.parse().as_ref(), Ok(one));
        }
    }

    #[test]
    fn the_starter_set_is_small_and_every_line_of_it_is_a_configuration_of_the_space() {
        let starter = starter();
        let names = names_of(&starter);
        let lines = include_str!("../starter.txt").lines();
        let named: Vec<_> =
            lines.filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
        assert_eq!(names, named);
        assert!((50..=200).contains(&names.len()), "{}", names.len());
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
        let all = names_of(&all());
        assert!(names.iter().all(|name| all.contains(name)));
        for family in families::ALL.iter().skip(1) {
            let of_family = starter.iter().filter(|one| one.family().name() == family.name());
            assert!(of_family.count() > 0, "{}", family.name());
        }
    }

    #[test]
    fn each_class_is_another_program() {
        for kernel in [Configuration::universal(), all()[0].clone()] {
            let programs: Vec<_> = ProblemClass::all().map(|class| kernel.program(class)).collect();
            let options: BTreeSet<_> = programs.iter().map(|program| &program.options).collect();
            assert_eq!(options.len(), ProblemClass::COUNT);
            for program in programs {
                let has = |name: &&str| program.source.contains(&format!("kernel void {name}("));
                assert!(!program.functions.is_empty() && program.functions.iter().all(has));
            }
        }
        let name = Configuration::universal().program(ProblemClass::F32_NN).name;
        assert_eq!(name, "universal/f32-nn");
    }

    #[test]
    fn another_launch_or_another_function_is_another_text() {
        let texts = |text: &str| texts_of(&text.parse().unwrap(), &problems());
        // Two of one program that differ in their launches alone.
        let [_, options, functions, launched] = texts("tile:4x8x4@8x16");
        let [_, same_options, same_functions, other] = texts("tile:4x8x4@16x8");
        assert_eq!((&options, &functions), (&same_options, &same_functions));
        assert_ne!(launched, other);
        let [_, options, _, launched] = texts("split:64x64x16@8x8+64");
        let [_, same_options, _, other] = texts("split:64x64x16@8x8+528");
        assert_eq!(options, same_options);
        assert_ne!(launched, other, "parts and scratch");
        assert_ne!(functions, texts("split:64x64x16@8x8+64")[2]);
        assert_eq!(problems().len(), 2 * SHAPES.len());
    }

    #[test]
    fn the_hash_sees_every_text_and_where_it_ends() {
        let hash = |texts: &[&str]| hash_of(texts.iter().map(|text| (*text).to_owned()));
        let sources = ["tile", "kernel void gemm() {}", "tile:1x1x1@8x8"];
        let before = hash(&sources);
        assert_eq!(before, hash(&sources));
        assert_ne!(before, hash(&["tile", "kernel void gemm() { }", "tile:1x1x1@8x8"]));
        assert_ne!(before, hash(&["tile", "kernel void gemm() {}", "tile:1x1x2@8x8"]));
        assert_ne!(before, hash(&["tile", "kernel void gemm() {}tile:1x1x1@8x8"]));
        assert_ne!(before, hash(&sources[..2]));
    }
}
