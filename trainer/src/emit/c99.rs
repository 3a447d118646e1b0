//! C99 without any library: a source file and its header, which C++ can include too.

use std::fmt::Write as _;

use selector_core::ProblemClass;

use super::{Answer, Language, Program, Syntax, class_name};

/// C99.
pub(super) struct C99;

const SYNTAX: Syntax = Syntax {
    indent: "    ",
    unsigned: "u",
    key: |indent, prefix, dimension, key| {
        format!("{indent}const int {key} = {prefix}_key({dimension});\n")
    },
    begin: |indent, condition| format!("{indent}if ({condition}) {{\n"),
    leaf: |indent, value| match value {
        0..=255 => format!("{indent}return {value};\n"),
        _ => format!("{indent}return UINT64_C({value:#014x});\n"),
    },
};

/// The key of FORMAT.md §5, by the fastest way of the compiler and the processor. `PREFIX` is
/// replaced.
const KEY: &str = "\
/* Eight times the base-2 logarithm of a dimension, the part within an octave taken as linear. */
static int PREFIX_key(uint32_t dimension)
{
#if defined(__x86_64__) && DBL_MANT_DIG == 53
    /* The upper bits of a double are the logarithm of what it holds. */
    const double value = dimension + (dimension == 0);
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (int)(bits >> 49) - 8 * 1023;
#else
    const uint64_t value = dimension + (dimension == 0);
#if defined(__GNUC__)
    const int octave = 63 - __builtin_clzll(value);
#else
    int octave = 0;
    while (value >> octave > 1) {
        octave++;
    }
#endif
    return 8 * octave + (int)(8 * value >> octave) - 8;
#endif
}
";

const PARAMETERS: &str = "uint32_t m, uint32_t k, uint32_t n, uint32_t batch";

/// What reads a whole leaf; `PREFIX` is replaced.
const ACCESSORS: &str = "\
/* A leaf in six bytes, lowest first: three kernels, expected loss, worst loss, training shapes. */

/* The kernel to try first (place 0), second or third; 0, the universal one, ends the list. */
static inline unsigned PREFIX_kernel(uint64_t leaf, unsigned place)
{
    return place < 3 ? (unsigned)(leaf >> (8 * place)) & 255u : 0u;
}

/* How much slower than the best measured kernel the first one is expected to be, and was at worst:
 * 64 times the base-2 logarithm, rounded up; 254 is that or more, 255 is unknown. */
static inline unsigned PREFIX_expected_loss(uint64_t leaf)
{
    return (unsigned)(leaf >> 24) & 255u;
}
static inline unsigned PREFIX_worst_loss(uint64_t leaf)
{
    return (unsigned)(leaf >> 32) & 255u;
}

/* Training shapes that led to the leaf: exact up to 15, above that at least so many. */
static inline uint32_t PREFIX_samples(uint64_t leaf)
{
    const unsigned code = (unsigned)(leaf >> 40) & 255u;
    const unsigned octave = code ? (code - 1) / 8 : 0;
    const uint64_t scaled = code ? (uint64_t)(8 + (code - 1) % 8) << octave : 0;
    return (uint32_t)((scaled + 7) / 8);
}

";

impl Language for C99 {
    fn name(&self) -> &'static str {
        "c"
    }

    fn source(&self, program: &Program<'_>) -> String {
        let mut text = origin(program);
        text += "#include <float.h>\n#include <stdint.h>\n#include <string.h>\n\n";
        text += &linkage(&declarations(program));
        text += &tables(program);
        let bodies = program.bodies(&SYNTAX);
        if bodies.iter().any(|(_, _, body)| body.contains("_key(")) {
            text += &KEY.replace("PREFIX", program.prefix);
            text.push('\n');
        }
        text + &functions(program, &bodies)
    }

    fn header(&self, program: &Program<'_>) -> Option<String> {
        let guard = format!("{}_SELECT_H", program.prefix.to_uppercase());
        let mut text = origin(program);
        let _ = write!(text, "#ifndef {guard}\n#define {guard}\n\n#include <stdint.h>\n\n");
        let shout = program.prefix.to_uppercase();
        text += "/* Numbers of the problem classes. */\nenum {\n";
        for class in ProblemClass::all() {
            let name = class_name(class).to_uppercase();
            let _ = writeln!(text, "    {shout}_{name} = {},", class.index());
        }
        let _ =
            writeln!(text, "    /* How many kernels there are, the universal one (0) included. */");
        let _ = write!(text, "    {shout}_KERNELS = {}\n}};\n\n", program.kernels().count());
        if program.answer == Answer::Leaf {
            text += &ACCESSORS.replace("PREFIX", program.prefix);
        }
        text += &linkage(&declarations(program));
        Some(text + "#endif\n")
    }
}

fn origin(program: &Program<'_>) -> String {
    let mut text = String::from("/*\n");
    for line in program.origin() {
        let _ = writeln!(text, " * {line}");
    }
    text + " */\n"
}

/// C names, also where a C++ compiler reads.
fn linkage(declarations: &str) -> String {
    format!(
        "#ifdef __cplusplus\nextern \"C\" {{\n#endif\n{declarations}#ifdef __cplusplus\n}}\n#endif\n\n"
    )
}

fn kind(answer: Answer) -> (&'static str, &'static str) {
    match answer {
        Answer::First => ("uint8_t", "the id of the first kernel"),
        Answer::Leaf => ("uint64_t", "the leaf"),
    }
}

fn declarations(program: &Program<'_>) -> String {
    let (prefix, (kind, what)) = (program.prefix, kind(program.answer));
    let width = program.configurations().map(|row| row.len()).max().unwrap_or(1);
    let mut text = format!(
        "/* Names of the kernels by id; and from id 1, in row 0, their family, then its parameters. */\n\
         extern const char *const {prefix}_kernel_names[{}];\n",
        program.kernels().count()
    );
    if program.configurations().next().is_some() {
        let rows = program.configurations().count();
        let _ = writeln!(text, "extern const uint16_t {prefix}_configurations[{rows}][{width}];");
    }
    let _ = writeln!(text, "/* For a shape: {what}. */");
    for class in program.trees.values().flatten() {
        let name = class_name(*class);
        let _ = writeln!(text, "{kind} {prefix}_select_{name}({PARAMETERS});");
    }
    let _ = writeln!(
        text,
        "/* The same by the class's number; for one without a tree, the universal kernel. */"
    );
    let _ = writeln!(text, "{kind} {prefix}_select(unsigned problem_class, {PARAMETERS});");
    text
}

fn tables(program: &Program<'_>) -> String {
    let prefix = program.prefix;
    let mut text =
        format!("const char *const {prefix}_kernel_names[{}] = {{\n", program.kernels().count());
    for (id, name) in program.kernels() {
        let _ = writeln!(text, "    \"{name}\", /* {id} */");
    }
    text += "};\n\n";
    let rows: Vec<_> = program.configurations().collect();
    let width = rows.iter().map(Vec::len).max().unwrap_or(1);
    if !rows.is_empty() {
        let _ =
            writeln!(text, "const uint16_t {prefix}_configurations[{}][{width}] = {{", rows.len());
        for row in rows {
            let numbers: Vec<_> = row.iter().map(ToString::to_string).collect();
            let _ = writeln!(text, "    {{{}}},", numbers.join(", "));
        }
        text += "};\n\n";
    }
    text
}

fn functions(program: &Program<'_>, bodies: &[(usize, &[ProblemClass], String)]) -> String {
    let (prefix, (kind, _)) = (program.prefix, kind(program.answer));
    const UNUSED: &str = "    (void)m;\n    (void)k;\n    (void)n;\n    (void)batch;\n";
    let mut text = String::new();
    let mut cases = String::new();
    for (number, classes, body) in bodies {
        let names: Vec<_> = classes.iter().map(ToString::to_string).collect();
        let _ = write!(
            text,
            "/* {} */\nstatic {kind} {prefix}_tree_{number}({PARAMETERS})\n{{\n{UNUSED}{body}}}\n\n",
            names.join(", "),
        );
        for class in *classes {
            let name = class_name(*class);
            let _ = write!(
                text,
                "{kind} {prefix}_select_{name}({PARAMETERS})\n{{\n    return {prefix}_tree_{number}(m, k, n, batch);\n}}\n\n",
            );
            let _ = writeln!(cases, "    case {}: /* {class} */", class.index());
        }
        let _ = writeln!(cases, "        return {prefix}_tree_{number}(m, k, n, batch);");
    }
    let universal = match program.answer {
        Answer::First => "0",
        Answer::Leaf => "UINT64_C(0x00ffff000000)",
    };
    let _ = write!(
        text,
        "{kind} {prefix}_select(unsigned problem_class, {PARAMETERS})\n{{\n{UNUSED}    switch (problem_class) {{\n\
         {cases}    default:\n        return {universal};\n    }}\n}}\n",
    );
    text
}
