// Family `skinny`: a C with few rows (SHORT_ROWS) or few columns. Its long operand, B or A, is read
// once; LANES work-items share a sum along k, and work-groups share it too, part by part. What
// lies side by side in memory is read by work-items that are side by side.
//
//                  n                A work-item computes LONG of the long side times SHORT of the
//        +--------------------+     short one. Groups along the long side are dimension 0, along the
//      k |         B          |     short one dimension 1; dimension 2 is the batch, times the parts
//        |                    |     of k.
//   k    +--------------------+
// +----+ +--------------------+     A is m x k (k x m if TRANSPOSE_A), B is k x n (n x k if
// | A  | | C     SHORT_ROWS=1 | m   TRANSPOSE_B), C is m x n, all row-major.
// +----+ +--------------------+
//
// Positions within one matrix fit 32 bits (the host checks), those between matrices need not.
#if !defined(SHORT_ROWS) || !defined(SHORT) || !defined(LONG) || !defined(GROUP) || !defined(LANES)
#error "define SHORT_ROWS: 0 or 1; SHORT; LONG: 1 or 4; GROUP and LANES"
#endif
#if !defined(TRANSPOSE_A) || !defined(TRANSPOSE_B)
#error "define TRANSPOSE_A and TRANSPOSE_B: 0 or 1"
#endif

// Whether neighbours along the long side lie side by side in memory, or neighbours along k; and the
// same of the short operand.
#define ACROSS (SHORT_ROWS ? !TRANSPOSE_B : TRANSPOSE_A)
#define SHORT_ACROSS (SHORT_ROWS ? TRANSPOSE_A : !TRANSPOSE_B)

// How often a lane that begins at step `begin` of `steps` takes `every` of them. Counted so that no
// step beyond the last can wrap.
#define ROUNDS(begin, every) ((begin) < steps ? (steps - 1 - (begin)) / (every) + 1 : 0)

// Steps along k that the lanes take at once.
#if (SHORT_ROWS && !TRANSPOSE_B) || (!SHORT_ROWS && TRANSPOSE_A)
#define STEPS LANES
#define WIDTH GROUP
#define HEIGHT LANES
#else
#define STEPS (4 * LANES)
#define WIDTH LANES
#define HEIGHT GROUP
#endif

kernel __attribute__((reqd_work_group_size(WIDTH, HEIGHT, 1)))
void gemm(uint m, uint n, uint k, float alpha, float beta,
          global const element *restrict a, ulong a_offset, uint a_leading, ulong a_stride,
          global const element *restrict b, ulong b_offset, uint b_leading, ulong b_stride,
          global element *restrict c, ulong c_offset, uint c_leading, ulong c_stride,
          uint parts, global float *restrict scratch) {
  const uint lane = get_local_id(ACROSS ? 1 : 0);
  const uint place = get_local_id(ACROSS ? 0 : 1);
  const uint group = (uint)(get_global_id(0) / WIDTH);
  const uint short_first = (uint)(get_global_id(1) / HEIGHT) * SHORT;
  const ulong batch = get_global_id(2) / parts;
  // Each part takes whole rounds of the lanes.
  const uint each = parts == 1 ? k : ((k - 1) / parts / STEPS + 1) * STEPS;
  const uint first = min((uint)(get_global_id(2) % parts) * each, k);
  const uint steps = min(each, k - first);

  const uint long_size = SHORT_ROWS ? n : m;
  const uint short_size = SHORT_ROWS ? m : n;
  const uint long_leading = SHORT_ROWS ? b_leading : a_leading;
  const uint short_leading = SHORT_ROWS ? a_leading : b_leading;
  const ulong long_offset = SHORT_ROWS ? b_offset + batch * b_stride : a_offset + batch * a_stride;
  const ulong short_offset = SHORT_ROWS ? a_offset + batch * a_stride : b_offset + batch * b_stride;
  global const element *wide = (SHORT_ROWS ? b : a) + long_offset;
  global const element *narrow = (SHORT_ROWS ? a : b) + short_offset;
  // Whether four elements that lie side by side are aligned.
  const bool aligned = ((long_offset | long_leading) & 3) == 0;

  float sum[SHORT][LONG];
  ALL_OF(i, SHORT) {
    ALL_OF(j, LONG) { sum[i][j] = 0.0f; }
  }
  // Element i of the short side at step l; beyond the matrix the last one, which is not stored.
#define SHORT_AT(i) min(short_first + (i), short_size - 1)
#define NARROW(i, l) \
  (narrow + (SHORT_ACROSS ? (l)*short_leading + SHORT_AT(i) : SHORT_AT(i) * short_leading + (l)))

#if (SHORT_ROWS && !TRANSPOSE_B) || (!SHORT_ROWS && TRANSPOSE_A)
  const uint start = (group * GROUP + place) * LONG;
  const bool whole = aligned && LONG == 4 && start < long_size && long_size - start >= 4;
  const uint count = min(below(start, long_size), (uint)LONG);
#define LONG_AT(j) (start + (j))
#define MULTIPLY(load)                                                   \
  _Pragma("unroll 4")                                                        \
  for (uint round = ROUNDS(lane, STEPS), l = lane; round > 0; --round, l += STEPS) { \
    global const element *from = wide + (first + l) * long_leading + start;  \
    const float4 right = load;                                               \
    float left[SHORT];                                                       \
    ALL_OF(i, SHORT) { left[i] = load1(NARROW(i, first + l)); }              \
    ALL_OF(i, SHORT) { MULTIPLY_ROW(sum[i], left[i], right) }                \
  }
#if LONG == 4
#define MULTIPLY_ROW(row, left, right)     \
  row[0] = mad(left, right.x, row[0]);     \
  row[1] = mad(left, right.y, row[1]);     \
  row[2] = mad(left, right.z, row[2]);     \
  row[3] = mad(left, right.w, row[3]);
#else
#define MULTIPLY_ROW(row, left, right) row[0] = mad(left, right.x, row[0]);
#endif
  // A loop for each kind of load, so that the loads of several steps can be under way at once.
  if (whole) {
    MULTIPLY(load4(from))
  } else if (count == 1) {
    MULTIPLY((float4)(load1(from)))
  } else if (count > 1) {
    MULTIPLY(load_some(from, count))
  }
#else
#define LONG_AT(j) ((group * LONG + (j)) * GROUP + place)
  const bool narrow_aligned = ((short_offset | short_leading) & 3) == 0;
#pragma unroll 2
  for (uint round = ROUNDS(lane * 4, STEPS), l = lane * 4; round > 0; --round, l += STEPS) {
    const uint count = below(l, steps);
    const uint step = first + l;
    float4 left[SHORT];
    ALL_OF(i, SHORT) {
      if (SHORT_ACROSS) {
        left[i].x = load1(NARROW(i, step));
        left[i].y = count > 1 ? load1(NARROW(i, step + 1)) : 0.0f;
        left[i].z = count > 2 ? load1(NARROW(i, step + 2)) : 0.0f;
        left[i].w = count > 3 ? load1(NARROW(i, step + 3)) : 0.0f;
      } else if (narrow_aligned && count == 4) {
        left[i] = load4(NARROW(i, step));
      } else {
        left[i] = load_some(NARROW(i, step), count);
      }
    }
    ALL_OF(j, LONG) {
      global const element *from = wide + min(LONG_AT(j), long_size - 1) * long_leading + step;
      const float4 right = aligned && count == 4 ? load4(from) : load_some(from, count);
      ALL_OF(i, SHORT) {
        sum[i][j] = mad(left[i].x, right.x, sum[i][j]);
        sum[i][j] = mad(left[i].y, right.y, sum[i][j]);
        sum[i][j] = mad(left[i].z, right.z, sum[i][j]);
        sum[i][j] = mad(left[i].w, right.w, sum[i][j]);
      }
    }
  }
#endif

#if LANES > 1
  // The lanes' sums, one after the other; the first lane has the total.
  local float sums[LANES][SHORT * LONG][GROUP];
  ALL_OF(i, SHORT) {
    ALL_OF(j, LONG) { sums[lane][i * LONG + j][place] = sum[i][j]; }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (lane > 0) {
    return;
  }
  ALL_OF(i, SHORT) {
    ALL_OF(j, LONG) {
      for (uint other = 1; other < LANES; ++other) {
        sum[i][j] += sums[other][i * LONG + j][place];
      }
    }
  }
#endif
  // Without products there is nothing that alpha could turn into NaN.
  const float factor = k == 0 ? 0.0f : alpha;
  c += c_offset + batch * c_stride;
  ALL_OF(i, SHORT) {
    ALL_OF(j, LONG) {
      const uint row = SHORT_ROWS ? short_first + i : LONG_AT(j);
      const uint column = SHORT_ROWS ? LONG_AT(j) : short_first + i;
      if (row < m && column < n) {
        if (parts > 1) {
          scratch[get_global_id(2) * m * n + row * n + column] = sum[i][j];
        } else {
          global element *to = c + row * c_leading + column;
          const float value = factor * sum[i][j];
          store1(beta == 0.0f ? value : mad(beta, load1(to), value), to);
        }
      }
    }
  }
}
