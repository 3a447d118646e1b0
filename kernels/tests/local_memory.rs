//! Which kernels do without local memory and barriers, for devices that have none: a board file may say so by
//! `local_memory = 0`.
#![expect(clippy::unwrap_used, reason = "a test ends by a panic")]

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::process::{Command, Stdio};

use kernels::{CheckedProblem, Configuration, Limits, Problem, Program, SubGroups, space};
use selector_core::{GemmShape, Precision, ProblemClass, Transposes};

/// What a device without local memory allows.
const WITHOUT: Limits = Limits {
    work_group: u64::MAX,
    work_items: [u64::MAX; 3],
    local_memory: 0,
    sub_groups: SubGroups::ALL,
};

/// The program's text after its options are put in; without an OpenCL compiler, by C's preprocessor.
fn text(program: &Program) -> String {
    let mut gcc = Command::new("gcc")
        .args(["-E", "-P", "-xc", "-"])
        .args(program.options.split_whitespace())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    gcc.stdin.take().unwrap().write_all(program.source.as_bytes()).unwrap();
    let output = gcc.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", program.name);
    String::from_utf8(output.stdout).unwrap()
}

/// Whether a part of a program's text names local memory or waits at a barrier.
fn is_local(text: &str) -> bool {
    let mut words = text.split(|one: char| !one.is_alphanumeric() && one != '_');
    words.any(|word| ["local", "__local", "barrier", "work_group_barrier"].contains(&word))
}

/// Names of the kernel functions whose text is local; helpers count for the function that follows.
fn local_functions(program: &Program) -> BTreeSet<&'static str> {
    let text = text(program);
    let ends: Vec<_> = text.match_indices("\n}").map(|(end, _)| end + 2).collect();
    let mut local = BTreeSet::new();
    let mut begin = 0;
    for end in ends {
        let part = &text[begin..end];
        let Some(name) =
            program.functions.iter().find(|name| part.contains(&format!("void {name}(")))
        else {
            continue;
        };
        if is_local(part) {
            local.insert(*name);
        }
        begin = end;
    }
    assert!(begin > 0, "no kernel function in {}", program.name);
    local
}

fn checked(class: ProblemClass, shape: GemmShape) -> CheckedProblem {
    let problem = Problem::packed(class, shape);
    let [a, b, c] = problem.buffer_lengths().unwrap();
    problem.check(a, b, c).unwrap()
}

/// Whether a function that is started for one of a few problems is local; `of` remembers programs.
fn uses_local_memory(
    configuration: &Configuration,
    class: ProblemClass,
    of: &mut BTreeMap<String, BTreeSet<&'static str>>,
) -> bool {
    let program = configuration.program(class);
    let local = of.entry(program.name.clone()).or_insert_with(|| local_functions(&program));
    let shapes = [(1, 1, 1, 1), (8, 20_000, 8, 1), (700, 700, 700, 2)];
    shapes.into_iter().any(|(m, k, n, batch)| {
        let launches = configuration.launches(&checked(class, GemmShape::new(m, k, n, batch)));
        launches.iter().any(|launch| local.contains(program.functions[launch.function]))
    })
}

#[test]
fn a_kernel_fits_a_device_without_local_memory_if_it_has_neither_that_nor_barriers() {
    let class = ProblemClass::new(Precision::F32, Transposes::Nt);
    let mut programs = BTreeMap::new();
    let mut free: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    for configuration in space::all() {
        let fits = configuration.fits(&WITHOUT).is_ok();
        let local = uses_local_memory(&configuration, class, &mut programs);
        assert_eq!(fits, !local, "{configuration}");
        let [without, all] = free.entry(configuration.family().name()).or_default();
        *without += usize::from(fits);
        *all += 1;
    }
    // All of these families are for such a GPU, none of those; and of the rest only some.
    let all_of = |family: &str| free[family][0] == free[family][1];
    let none_of = |family: &str| free[family][0] == 0;
    assert!(["tile", "subgroup"].iter().all(|family| all_of(family)), "{free:?}");
    assert!(["local", "split"].iter().all(|family| none_of(family)), "{free:?}");
    let some_of = |family: &str| !all_of(family) && !none_of(family);
    assert!(["packed", "skinny"].iter().all(|family| some_of(family)), "{free:?}");
    let names: Vec<_> = space::all().iter().map(ToString::to_string).collect();
    for configuration in ["packed:none-4x4x1@8x8", "packed:none-8x8x1@8x8", "tile:4x4x4@8x8"] {
        assert!(names.iter().any(|name| name == configuration), "{configuration}");
        assert_eq!(configuration.parse::<Configuration>().unwrap().fits(&WITHOUT), Ok(()));
    }
}
