//! A family for tests of steps and scratch memory: `parted:P` splits k into P parts, whose sums a
//! second step adds up. Where there is one part, one function does all and wants no memory.
#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "each test takes what it needs and ends by a panic"
)]

use kernels::bundle::Bundle;
use kernels::{CheckedProblem, Configuration, Family, Launch, Launches, Program};
use selector_core::ProblemClass;

/// `parted` with `parts` parts.
pub(crate) fn parted(parts: u16) -> Configuration {
    Configuration::new(&Parted, vec![parts]).unwrap()
}

/// `bundle` with `parted(parts)` in place of its first kernel; `program` is its program's name.
pub(crate) fn with_parted<'a>(
    mut bundle: Bundle<'a>,
    parts: u16,
    program: &'a str,
    binary: &'a [u8],
) -> Bundle<'a> {
    let old = bundle.kernels[1].program(ProblemClass::F32_NN).name;
    bundle.kernels[1] = parted(parts);
    let place = bundle.programs.iter_mut().find(|one| one.name == old).unwrap();
    (place.name, place.binary) = (program, binary);
    bundle
}

struct Parted;

impl Family for Parted {
    fn name(&self) -> &'static str {
        "parted"
    }

    fn source(&self) -> &'static str {
        SOURCE
    }

    fn expected(&self) -> &'static str {
        "a number of parts"
    }

    fn parse(&self, text: &str) -> Option<Vec<u16>> {
        Some(vec![text.parse().ok()?])
    }

    fn write(&self, parameters: &[u16]) -> String {
        parameters[0].to_string()
    }

    fn allows(&self, parameters: &[u16]) -> bool {
        matches!(parameters, [parts] if *parts > 0)
    }

    fn space(&self) -> Vec<Vec<u16>> {
        (1..=8).map(|parts| vec![parts]).collect()
    }

    fn program(&self, _parameters: &[u16], class: ProblemClass) -> Program {
        let [a, b] = [class.transposes.a(), class.transposes.b()].map(u8::from);
        Program {
            name: format!("parted/{class}"),
            source: SOURCE,
            options: format!("-DTRANSPOSE_A={a} -DTRANSPOSE_B={b}"),
            class,
            functions: &["partial", "reduce", "whole"],
            scratch: true,
        }
    }

    fn launches(&self, parameters: &[u16], problem: &CheckedProblem) -> Launches {
        let shape = problem.problem().shape;
        let [m, n, batch] = [shape.m, shape.n, shape.batch].map(u64::from);
        let parts = u64::from(self.parts(parameters, problem));
        let local = self.work_group(parameters);
        let whole = Launch::cover([n, m, batch], local);
        if parts == 1 {
            return whole.of(2);
        }
        Launch::cover([n, m, batch * parts], local).then(whole.of(1))
    }

    fn scratch(&self, parameters: &[u16], problem: &CheckedProblem) -> u64 {
        let shape = problem.problem().shape;
        match self.parts(parameters, problem) {
            1 => 0,
            parts => [shape.m, shape.n, shape.batch, parts]
                .into_iter()
                .fold(4, |bytes: u64, factor| bytes.saturating_mul(factor.into())),
        }
    }

    fn parts(&self, parameters: &[u16], problem: &CheckedProblem) -> u32 {
        u32::from(parameters[0]).min(problem.effective_k()).max(1)
    }

    fn work_group(&self, _parameters: &[u16]) -> [u64; 3] {
        [4, 4, 1]
    }

    fn item(&self, _parameters: &[u16]) -> [u64; 3] {
        [1, 1, 1]
    }
}

const SOURCE: &str = r"
#define ARGUMENTS                                                                      \
  uint m, uint n, uint k, float alpha, float beta,                                     \
  global const float *a, ulong a_offset, uint a_leading, ulong a_stride,               \
  global const float *b, ulong b_offset, uint b_leading, ulong b_stride,               \
  global float *c, ulong c_offset, uint c_leading, ulong c_stride,                     \
  uint parts, global float *scratch

#if TRANSPOSE_A
#define A_AT(row, step) a[a_offset + batch * a_stride + (step) * a_leading + (row)]
#else
#define A_AT(row, step) a[a_offset + batch * a_stride + (row) * a_leading + (step)]
#endif
#if TRANSPOSE_B
#define B_AT(step, column) b[b_offset + batch * b_stride + (column) * b_leading + (step)]
#else
#define B_AT(step, column) b[b_offset + batch * b_stride + (step) * b_leading + (column)]
#endif

#define STORE(value)                                                                   \
  do {                                                                                 \
    global float *to = c + c_offset + batch * c_stride + row * c_leading + column;     \
    *to = beta == 0.0f ? (value) : mad(beta, *to, (value));                            \
  } while (0)

// Dimension 2 counts the parts of each matrix of the batch.
kernel void partial(ARGUMENTS) {
  const ulong column = get_global_id(0), row = get_global_id(1);
  const ulong batch = get_global_id(2) / parts, part = get_global_id(2) % parts;
  if (row >= m || column >= n)
    return;
  float sum = 0.0f;
  for (ulong step = k * part / parts; step < k * (part + 1) / parts; ++step)
    sum = mad(A_AT(row, step), B_AT(step, column), sum);
  scratch[(get_global_id(2) * m + row) * n + column] = sum;
}

kernel void reduce(ARGUMENTS) {
  const ulong column = get_global_id(0), row = get_global_id(1), batch = get_global_id(2);
  if (row >= m || column >= n)
    return;
  float sum = 0.0f;
  for (ulong part = 0; part < parts; ++part)
    sum += scratch[((batch * parts + part) * m + row) * n + column];
  STORE(alpha * sum);
}

kernel void whole(ARGUMENTS) {
  const ulong column = get_global_id(0), row = get_global_id(1), batch = get_global_id(2);
  if (row >= m || column >= n)
    return;
  float sum = 0.0f;
  for (ulong step = 0; step < k; ++step)
    sum = mad(A_AT(row, step), B_AT(step, column), sum);
  STORE(k == 0 ? 0.0f : alpha * sum);
}
";
