//! C99 without any library.

use std::fmt::Write as _;

use super::{Answer, Language, Program, Syntax, class_name};

/// C99.
pub(super) struct C99;

const SYNTAX: Syntax = Syntax {
    indent: "    ",
    unsigned: "u",
    key: |dimension, key| format!("    const int {key} = gemmtree_key({dimension});\n"),
    begin: |indent, condition| format!("{indent}if ({condition}) {{\n"),
    leaf: |indent, value| match value {
        0..=255 => format!("{indent}return {value};\n"),
        _ => format!("{indent}return UINT64_C({value:#014x});\n"),
    },
};

/// The key of FORMAT.md §5. The upper bits of a double are the logarithm of what it holds.
const KEY: &str = "\
/* Eight times the base-2 logarithm of a dimension, the part within an octave taken as linear. */
static int gemmtree_key(uint32_t dimension)
{
#if FLT_RADIX == 2 && DBL_MANT_DIG == 53
    const double value = dimension + (dimension == 0);
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (int)(bits >> 49) - 8 * 1023;
#else
    uint64_t value = dimension + (dimension == 0);
    int octave = 0;
    while (value >> octave > 1) {
        octave++;
    }
    return 8 * octave + (int)(8 * value >> octave) - 8;
#endif
}
";

impl Language for C99 {
    fn name(&self) -> &'static str {
        "c"
    }

    fn source(&self, program: &Program<'_>) -> String {
        let mut text = String::from("/*\n");
        for line in program.origin() {
            text += &format!(" * {line}\n");
        }
        text += " */\n#include <float.h>\n#include <stdint.h>\n#include <string.h>\n\n";
        let (prefix, bodies) = (program.prefix, program.bodies(&SYNTAX));
        text += &format!(
            "/* Names of the kernels by id. */\nconst char *const {prefix}_kernels[] = {{\n"
        );
        for (id, name) in program.kernels() {
            text += &format!("    \"{name}\", /* {id} */\n");
        }
        text += "};\n\n";
        if bodies.iter().any(|(_, _, body)| body.contains("gemmtree_key(")) {
            text += KEY;
            text.push('\n');
        }
        text + &functions(program, &bodies)
    }
}

fn functions(
    program: &Program<'_>,
    bodies: &[(usize, &[selector_core::ProblemClass], String)],
) -> String {
    let mut text = String::new();
    let (kind, what) = match program.answer {
        Answer::First => ("uint8_t", "the id of the first kernel"),
        Answer::Leaf => (
            "uint64_t",
            "bytes, lowest first: ids of up to three kernels (0 ends the list and is the\n\
             \x20* universal kernel), expected loss, worst loss, training shapes",
        ),
    };
    let prefix = program.prefix;
    const PARAMETERS: &str = "uint32_t m, uint32_t k, uint32_t n, uint32_t batch";
    for (number, classes, body) in bodies {
        let names: Vec<_> = classes.iter().map(ToString::to_string).collect();
        let _ = write!(
            text,
            "/* {}: {what}. */\nstatic {kind} tree_{number}({PARAMETERS})\n{{\n",
            names.join(", "),
        );
        for dimension in ["m", "k", "n", "batch"] {
            text += &format!("    (void){dimension};\n");
        }
        text += &format!("{body}}}\n\n");
        for class in *classes {
            let name = class_name(*class);
            let _ = write!(
                text,
                "{kind} {prefix}_select_{name}({PARAMETERS});\n{kind} {prefix}_select_{name}({PARAMETERS})\n\
                 {{\n    return tree_{number}(m, k, n, batch);\n}}\n\n",
            );
        }
    }
    let universal = match program.answer {
        Answer::First => "0",
        Answer::Leaf => "UINT64_C(0x00ffff000000)",
    };
    let _ = write!(
        text,
        "/* The same by the number of the problem class; for one without a tree, the universal kernel. */\n\
         {kind} {prefix}_select(unsigned problem_class, {PARAMETERS});\n\
         {kind} {prefix}_select(unsigned problem_class, {PARAMETERS})\n{{\n    (void)m;\n    (void)k;\n    \
         (void)n;\n    (void)batch;\n    switch (problem_class) {{\n",
    );
    for (number, classes, _) in bodies {
        for class in *classes {
            text += &format!("    case {}: /* {class} */\n", class.index());
        }
        text += &format!("        return tree_{number}(m, k, n, batch);\n");
    }
    text + &format!("    default:\n        return {universal};\n    }}\n}}\n")
}
