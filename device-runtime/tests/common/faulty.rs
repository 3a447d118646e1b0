//! A family of kernels that are right on C and wrong beside it, one by its number.

use kernels::{CheckedProblem, Configuration, Family, Launch, Launches, Program};
use selector_core::ProblemClass;

/// What each kernel does beside computing C.
pub(crate) const FAULTS: [&str; 9] = [
    "nothing",
    "writes the column behind each row of C",
    "writes the row behind C",
    "writes the element before C",
    "writes the element behind A",
    "adds 0 times what is behind a row of A",
    "adds 0 times what is before B",
    "writes behind its scratch memory",
    "adds 0 times scratch memory that it did not write",
];

/// The kernel with this fault.
pub(crate) fn faulty(fault: usize) -> Configuration {
    Configuration::new(&Faulty, vec![fault as u16]).unwrap()
}

struct Faulty;

impl Family for Faulty {
    fn name(&self) -> &'static str {
        "faulty"
    }

    fn source(&self) -> &'static str {
        SOURCE
    }

    fn expected(&self) -> &'static str {
        "the number of a fault"
    }

    fn parse(&self, text: &str) -> Option<Vec<u16>> {
        Some(vec![text.parse().ok()?])
    }

    fn write(&self, parameters: &[u16]) -> String {
        parameters[0].to_string()
    }

    fn allows(&self, parameters: &[u16]) -> bool {
        matches!(parameters, [fault] if usize::from(*fault) < FAULTS.len())
    }

    fn space(&self) -> Vec<Vec<u16>> {
        (0..FAULTS.len()).map(|fault| vec![fault as u16]).collect()
    }

    fn program(&self, parameters: &[u16], class: ProblemClass) -> Program {
        let fault = parameters[0];
        let element = if class.element().bytes() == 2 { "half" } else { "float" };
        Program {
            name: format!("faulty:{fault}/{class}"),
            source: SOURCE,
            options: format!(
                "-DFAULT={fault} -DT={element} -DHALF={} -DTRANSPOSE_A={} -DTRANSPOSE_B={}",
                u8::from(element == "half"),
                u8::from(class.transposes.a()),
                u8::from(class.transposes.b())
            ),
            class,
            functions: &["gemm"],
            scratch: true,
        }
    }

    fn launches(&self, parameters: &[u16], problem: &CheckedProblem) -> Launches {
        let shape = problem.problem().shape;
        let [m, n, batch] = [shape.m, shape.n, shape.batch].map(u64::from);
        Launch::cover([n, m, batch], self.work_group(parameters))
    }

    fn scratch(&self, _parameters: &[u16], problem: &CheckedProblem) -> u64 {
        let shape = problem.problem().shape;
        [shape.m, shape.n, shape.batch].into_iter().fold(4, |bytes, size| bytes * u64::from(size))
    }

    fn work_group(&self, _parameters: &[u16]) -> [u64; 3] {
        [4, 4, 1]
    }

    fn item(&self, _parameters: &[u16]) -> [u64; 3] {
        [1, 1, 1]
    }
}

const SOURCE: &str = r"
#if HALF
#define GET(p, at) vload_half(at, p)
#define PUT(value, p, at) vstore_half_rte(value, at, p)
#else
#define GET(p, at) (p)[at]
#define PUT(value, p, at) (p)[at] = (value)
#endif

kernel void gemm(uint m, uint n, uint k, float alpha, float beta,
                 global T *a, ulong a_offset, uint a_leading, ulong a_stride,
                 global const T *b, ulong b_offset, uint b_leading, ulong b_stride,
                 global T *c, ulong c_offset, uint c_leading, ulong c_stride,
                 uint parts, global float *scratch) {
  const ulong column = get_global_id(0), row = get_global_id(1), batch = get_global_id(2);
  if (row >= m || column >= n)
    return;
  const ulong in_a = a_offset + batch * a_stride, in_b = b_offset + batch * b_stride;
  const ulong in_c = c_offset + batch * c_stride;
  float sum = 0.0f;
  for (ulong step = 0; step < k; ++step) {
    const ulong left = TRANSPOSE_A ? step * a_leading + row : row * a_leading + step;
    const ulong right = TRANSPOSE_B ? column * b_leading + step : step * b_leading + column;
    sum = mad(GET(a, in_a + left), GET(b, in_b + right), sum);
  }
  const ulong all = (ulong)m * n * get_global_size(2), own = (batch * m + row) * n + column;
  scratch[own] = sum;
  const bool is_first = own == 0, is_last = own == all - 1;
  const ulong last = in_c + (m - 1) * (ulong)c_leading + n - 1;
  if (FAULT == 1 && column == n - 1)
    PUT(1.0f, c, in_c + row * c_leading + n);
  if (FAULT == 2 && row == m - 1)
    PUT(1.0f, c, in_c + m * (ulong)c_leading + column);
  if (FAULT == 3 && is_first)
    PUT(1.0f, c, c_offset - 1);
  if (FAULT == 4 && is_last)
    PUT(1.0f, a, in_a + (TRANSPOSE_A ? k : m) * (ulong)a_leading);
  if (FAULT == 5 && k > 0)
    sum += 0.0f * GET(a, in_a + (TRANSPOSE_A ? k * (ulong)a_leading + row : row * a_leading + k));
  if (FAULT == 6 && k > 0)
    sum += 0.0f * GET(b, b_offset - 1);
  if (FAULT == 7 && is_last)
    scratch[all] = sum;
  if (FAULT == 8)
    sum += 0.0f * scratch[is_last ? own : own + 1];
  const ulong at = in_c + row * c_leading + column;
  PUT(k == 0 ? (beta == 0.0f ? 0.0f : beta * GET(c, at))
             : alpha * sum + (beta == 0.0f ? 0.0f : beta * GET(c, at)), c, at);
}
";
