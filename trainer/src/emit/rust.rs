//! Rust, `no_std`, as a module to include.

use super::{Answer, Language, Program, Syntax, class_name};

/// Rust.
pub(super) struct Rust;

const SYNTAX: Syntax = Syntax {
    indent: "    ",
    unsigned: "",
    key: |indent, prefix, dimension, key| {
        format!("{indent}let {key} = {prefix}_key({dimension});\n")
    },
    begin: |indent, condition| format!("{indent}if {condition} {{\n"),
    leaf: |indent, value| match value {
        0..=255 => format!("{indent}{value}\n"),
        _ => format!("{indent}{value:#014x}\n"),
    },
};

const KEY: &str = "\
/// Eight times the base-2 logarithm of a dimension, the part within an octave taken as linear.
#[inline]
fn PREFIX_key(dimension: u32) -> i32 {
    if cfg!(target_arch = \"x86_64\") {
        // The upper bits of a double are the logarithm of what it holds.
        (f64::from(dimension.max(1)).to_bits() >> 49) as i32 - 8 * 1023
    } else {
        let octave = dimension.max(1).ilog2();
        (8 * octave) as i32 + ((8 * u64::from(dimension.max(1))) >> octave) as i32 - 8
    }
}
";

impl Language for Rust {
    fn name(&self) -> &'static str {
        "rust"
    }

    fn source(&self, program: &Program<'_>) -> String {
        let mut text = String::new();
        for line in program.origin() {
            text += &format!("// {line}\n");
        }
        let (kind, what) = match program.answer {
            Answer::First => ("u8", "The id of the first kernel"),
            Answer::Leaf => (
                "u64",
                "The six bytes of the leaf, lowest first: three kernels (0, the universal one, ends \
                 the list); expected\n/// and worst loss, 64 times the base-2 logarithm, 255 for unknown; a code for \
                 the training shapes\n/// (selector-core, FORMAT.md, section 6)",
            ),
        };
        let (prefix, bodies) = (program.prefix, program.bodies(&SYNTAX));
        let shout = prefix.to_uppercase();
        let names: Vec<_> = program.kernels().collect();
        text += "\n/// Names of the kernels by id.\n";
        text += &format!("pub const {shout}_KERNELS: [&str; {}] = [\n", names.len());
        for (id, name) in names {
            text += &format!("    \"{name}\", // {id}\n");
        }
        text += "];\n\n";
        if bodies.iter().any(|(_, _, body)| body.contains("_key(")) {
            text += &KEY.replace("PREFIX", prefix);
            text.push('\n');
        }
        const PARAMETERS: &str = "m: u32, k: u32, n: u32, batch: u32";
        let universal = match program.answer {
            Answer::First => "0",
            Answer::Leaf => "0x00ffff000000",
        };
        let mut arms = String::new();
        for (number, classes, body) in bodies {
            text += &format!(
                "#[allow(unused_variables, clippy::all)]\nfn {prefix}_tree_{number}({PARAMETERS}) -> {kind} {{\n{body}}}\n\n"
            );
            for class in classes {
                let name = class_name(*class);
                text += &format!(
                    "/// {what}, for class {class}.\n#[must_use]\npub fn {prefix}_select_{name}({PARAMETERS}) -> {kind} {{\n    \
                     {prefix}_tree_{number}(m, k, n, batch)\n}}\n\n"
                );
                arms += &format!(
                    "        {} => {prefix}_tree_{number}(m, k, n, batch), // {class}\n",
                    class.index()
                );
            }
        }
        text + &format!(
            "/// The same by the number of the problem class; for one without a tree, the universal kernel.\n\
             #[allow(unused_variables)]\n#[must_use]\npub fn {prefix}_select(problem_class: u8, {PARAMETERS}) -> {kind} {{\n    \
             match problem_class {{\n{arms}        _ => {universal},\n    }}\n}}\n"
        )
    }
}
