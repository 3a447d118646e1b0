// Family `universal`: runs on every device, in work-groups of one work-item, for every class.
// Each work-item computes a BLOCK x BLOCK block of C element by element. All positions are 64-bit.
//
// A is m x k (k x m if TRANSPOSE_A), B is k x n (n x k if TRANSPOSE_B), C is m x n, all row-major.
// Columns are dimension 0, rows dimension 1, the batch dimension 2.
#if !defined(BLOCK) || !defined(TRANSPOSE_A) || !defined(TRANSPOSE_B) || !defined(HALF)
#error "define BLOCK, and TRANSPOSE_A, TRANSPOSE_B and HALF: 0 or 1"
#endif

#if HALF
typedef half element;
#define LOAD(from) vload_half(0, from)
#define STORE(value, to) vstore_half(value, 0, to)
#else
typedef float element;
#define LOAD(from) (*(from))
#define STORE(value, to) (*(to) = (value))
#endif

kernel void gemm(uint m, uint n, uint k, float alpha, float beta,
                 global const element *restrict a, ulong a_offset, uint a_leading, ulong a_stride,
                 global const element *restrict b, ulong b_offset, uint b_leading, ulong b_stride,
                 global element *restrict c, ulong c_offset, uint c_leading, ulong c_stride) {
  const ulong first_row = (ulong)get_global_id(1) * BLOCK;
  const ulong first_column = (ulong)get_global_id(0) * BLOCK;
  const ulong batch = get_global_id(2);
  a += a_offset + batch * a_stride;
  b += b_offset + batch * b_stride;
  c += c_offset + batch * c_stride;

  // Without products there is nothing that alpha could turn into NaN.
  const float factor = k == 0 ? 0.0f : alpha;
  const ulong last_row = min(first_row + BLOCK, (ulong)m);
  const ulong last_column = min(first_column + BLOCK, (ulong)n);
  for (ulong row = first_row; row < last_row; ++row) {
    for (ulong column = first_column; column < last_column; ++column) {
      float sum = 0.0f;
      for (ulong step = 0; step < k; ++step) {
#if TRANSPOSE_A
        const float left = LOAD(a + step * a_leading + row);
#else
        const float left = LOAD(a + row * a_leading + step);
#endif
#if TRANSPOSE_B
        const float right = LOAD(b + column * b_leading + step);
#else
        const float right = LOAD(b + step * b_leading + column);
#endif
        sum = mad(left, right, sum);
      }
      global element *to = c + row * c_leading + column;
      const float value = factor * sum;
      STORE(beta == 0.0f ? value : mad(beta, LOAD(to), value), to);
    }
  }
}
