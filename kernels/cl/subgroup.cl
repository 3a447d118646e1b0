// Family `subgroup`: a sub-group of LANES work-items computes a ROWS x (LANES * BLOCKS) tile of C
// without local memory or barriers: what its lanes have read they hand to each other.
//
//             LANES LANES         A is m x k (k x m if TRANSPOSE_A), B is k x n (n x k if
//            +-----+-----+        TRANSPOSE_B), C is m x n, all row-major. A lane computes one
//      LANES |  B  |  B  |        column of each of BLOCKS blocks. Dimension 0 is LANES items for
//            +-----+-----+        each tile along columns, dimension 1 tiles along rows, dimension
//   LANES                         2 the batch; a work-group is whole tiles.
//  +-----+   +-----+-----+
//  |  A  |   |  C  |  C  | ROWS   For LANES steps along k a lane reads one step of each row of A,
//  +-----+   +-----+-----+        step by step the lanes read a row of B side by side, and each
//             BLOCKS = 2          multiplies it by what the step's lane holds.
//
// Positions within one matrix fit 32 bits (the host checks), those between matrices need not.
#if !defined(ROWS) || !defined(BLOCKS) || !defined(LANES)
#error "define ROWS: 1 or more, BLOCKS: 1, 2, 4 or 8, and LANES: 8 or 16"
#endif
#if !defined(TRANSPOSE_A) || !defined(TRANSPOSE_B) || !defined(HALF)
#error "define TRANSPOSE_A, TRANSPOSE_B and HALF: 0 or 1"
#endif
#pragma OPENCL EXTENSION cl_intel_subgroups : enable

#define COLUMNS (LANES * BLOCKS)

// READ_<blocks>: to each lane its element of as many blocks in a row, read at once. The address is
// the same for all lanes, and aligned to four bytes.
#if HALF && !defined(cl_intel_subgroups_short)
#define READ_1(to, from) (to)[0] = load1((from) + lane)
#define READ_2(to, from) READ_1(to, from), READ_1((to) + 1, (from) + LANES)
#define READ_4(to, from) READ_2(to, from), READ_2((to) + 2, (from) + 2 * LANES)
#define READ_8(to, from) READ_4(to, from), READ_4((to) + 4, (from) + 4 * LANES)
#elif HALF
#pragma OPENCL EXTENSION cl_intel_subgroups_short : enable
#define READ(name, width, to, from)                                      \
  {                                                                      \
    ushort bits[width];                                                  \
    WIDE(PUT_, width)(name((global const ushort *)(from)), bits);        \
    ALL_OF(block, width) {                                               \
      (to)[block] = vload_half(block, (private const half *)bits);       \
    }                                                                    \
  }
#define READ_1(to, from) READ(intel_sub_group_block_read_us, 1, to, from)
#define READ_2(to, from) READ(intel_sub_group_block_read_us2, 2, to, from)
#define READ_4(to, from) READ(intel_sub_group_block_read_us4, 4, to, from)
#define READ_8(to, from) READ(intel_sub_group_block_read_us8, 8, to, from)
#else
#define READ(name, width, to, from)                                      \
  WIDE(PUT_, width)(WIDE(as_float, width)(name((global const uint *)(from))), to)
#define as_float1 as_float
#define READ_1(to, from) READ(intel_sub_group_block_read, 1, to, from)
#define READ_2(to, from) READ(intel_sub_group_block_read2, 2, to, from)
#define READ_4(to, from) READ(intel_sub_group_block_read4, 4, to, from)
#define READ_8(to, from) READ(intel_sub_group_block_read8, 8, to, from)
#endif
#define PUT_1(value, to) (to)[0] = (value)
#define PUT_2(value, to) vstore2(value, 0, to)
#define PUT_4(value, to) vstore4(value, 0, to)
#define PUT_8(value, to) vstore8(value, 0, to)

// Vectors of lanes that hold a column of A, one row each, where rows lie side by side.
#define ROW_BLOCKS ((ROWS - 1) / LANES + 1)

// What lane `lane` holds, given to all.
#define OF_LANE(value, lane) intel_sub_group_shuffle(value, lane)

// Steps along k that a loop goes over are written out, since compilers leave such a loop as it is
// when it is long: then `lane` would be unknown to them, and no operand of a multiplication.
#if LANES == 8
#define EACH_STEP(step) STEPS_8(step, 0)
#else
#define EACH_STEP(step) STEPS_8(step, 0) STEPS_8(step, 8)
#endif
#define STEPS_8(step, l)                                            \
  step((l)) step((l) + 1) step((l) + 2) step((l) + 3)               \
  step((l) + 4) step((l) + 5) step((l) + 6) step((l) + 7)

// A's elements of step l: along k each lane holds one of every row since `first`; across k they are
// read now.
#if TRANSPOSE_A
#define FETCH_LEFT(l)                                                        \
  float left[ROW_BLOCKS];                                                    \
  ALL_OF(i, ROW_BLOCKS) { left[i] = load1(a + (first + l) * a_leading + a_at[i]); }
#define LEFT(i, l) OF_LANE(left[(i) / LANES], (i) % LANES)
#else
#define FETCH_LEFT(l)
#define LEFT(i, l) OF_LANE(left[i], l)
#endif

// B's elements of step l: rows are read in blocks, of columns each lane reads four steps at once.
#if TRANSPOSE_B
#define FETCH_RIGHT(l) \
  if ((l) % 4 == 0) ALL_OF(j, BLOCKS) { vstore4(LOAD_4(b + b_at[j] + first + (l)), 0, right[j]); }
#define RIGHT(j, l) right[j][(l) % 4]
#define RIGHT_STEPS [4]
#else
#define FETCH_RIGHT(l) WIDE(READ_, BLOCKS)(right, b + (first + l) * b_leading + side);
#define RIGHT(j, l) right[j]
#define RIGHT_STEPS
#endif

// One step along k.
#define MULTIPLY(l, right_value)                                             \
  ALL_OF(i, ROWS) {                                                          \
    const float row_value = LEFT(i, l);                                      \
    ALL_OF(j, BLOCKS) { sum[i][j] = mad(row_value, right_value, sum[i][j]); } \
  }
#define WHOLE_STEP(l)            \
  {                              \
    FETCH_RIGHT(l)               \
    FETCH_LEFT(l)                \
    MULTIPLY(l, RIGHT(j, l))     \
  }
#define LAST_STEP(l)                                                                   \
  if (l < steps) {                                                                     \
    float right[BLOCKS];                                                               \
    ALL_OF(j, BLOCKS) {                                                                \
      right[j] = load1(b + b_at[j] + (first + l) * (TRANSPOSE_B ? 1 : b_leading));     \
    }                                                                                  \
    FETCH_LEFT(l)                                                                      \
    MULTIPLY(l, right[j])                                                              \
  }

kernel __attribute__((intel_reqd_sub_group_size(LANES)))
void gemm(uint m, uint n, uint k, float alpha, float beta,
          global const element *restrict a, ulong a_offset, uint a_leading, ulong a_stride,
          global const element *restrict b, ulong b_offset, uint b_leading, ulong b_stride,
          global element *restrict c, ulong c_offset, uint c_leading, ulong c_stride) {
  const uint lane = get_sub_group_local_id();
  // Which tile of its work-group a sub-group has goes by its number, whatever items it is made of.
  // Numbers of groups and what one lane says are the same for all: positions are then kept once.
  const uint sub_group = OF_LANE(get_sub_group_id(), 0);
  const uint group_columns = get_local_size(0) / LANES;
  const uint across = (get_group_id(0) * get_local_size(0) + get_global_offset(0)) / LANES;
  const uint down = get_group_id(1) * get_local_size(1) + get_global_offset(1);
  const ulong batch = get_group_id(2) + get_global_offset(2);
  const ulong first_row = (ulong)(down + sub_group / group_columns) * ROWS;
  const ulong first_column = (ulong)(across + sub_group % group_columns) * COLUMNS;
  if (first_row >= m || first_column >= n) {
    return;
  }
  const uint row = first_row;
  const uint column = first_column;
  // A tile that would cross the last column of C moves back over its neighbour, and stores only its
  // own elements.
  const uint side = min(column, max(n, (uint)COLUMNS) - COLUMNS);
  a += a_offset + batch * a_stride;
  b += b_offset + batch * b_stride;
  c += c_offset + batch * c_stride;

  // Whether blocks may be read: all of the columns are there, and halves lie in whole words.
  bool whole = n >= COLUMNS || TRANSPOSE_B;
#if HALF && !TRANSPOSE_A
  whole = whole && ((a_offset | a_leading | a_stride) & 1) == 0;
#endif
#if HALF && !TRANSPOSE_B
  whole = whole && ((b_offset | b_leading | b_stride | side) & 1) == 0;
#endif

  // Rows beyond A repeat its last, columns beyond B its last.
#if TRANSPOSE_A
  uint a_at[ROW_BLOCKS];
  ALL_OF(i, ROW_BLOCKS) { a_at[i] = row + min(min(i * LANES + lane, ROWS - 1u), m - 1 - row); }
#else
  uint a_at[ROWS];
  ALL_OF(i, ROWS) { a_at[i] = (row + min(i, m - 1 - row)) * a_leading; }
#endif
  uint b_at[BLOCKS];
  ALL_OF(j, BLOCKS) {
    b_at[j] = (side + min(j * LANES + lane, n - 1 - side)) * (TRANSPOSE_B ? b_leading : 1);
  }

  float sum[ROWS][BLOCKS];
  ALL_OF(i, ROWS) {
    ALL_OF(j, BLOCKS) { sum[i][j] = 0.0f; }
  }

  // Counted down, so that no step beyond the last can wrap.
  for (uint first = 0, rest = k, steps; rest > 0; first += LANES, rest -= steps) {
    steps = min(rest, (uint)LANES);
#if !TRANSPOSE_A
    float left[ROWS];
#endif
    if (whole && steps == LANES) {
#if !TRANSPOSE_A
      ALL_OF(i, ROWS) { READ_1(left + i, a + a_at[i] + first); }
#endif
      float right[BLOCKS]RIGHT_STEPS;
      EACH_STEP(WHOLE_STEP)
    } else {
      // Element by element: the last steps of k, and what cannot be read in blocks.
#if !TRANSPOSE_A
      ALL_OF(i, ROWS) { left[i] = load1(a + a_at[i] + first + min(lane, steps - 1)); }
#endif
      EACH_STEP(LAST_STEP)
    }
  }

  // Without products there is nothing that alpha could turn into NaN.
  const float factor = k == 0 ? 0.0f : alpha;
  ALL_OF(j, BLOCKS) {
    const uint at = side + j * LANES + lane;
    if (at >= column && j * LANES + lane < n - side) {
      ALL_OF(i, ROWS) {
        if (i < m - row) {
          global element *to = c + (row + i) * c_leading + at;
          const float value = factor * sum[i][j];
          store1(beta == 0.0f ? value : mad(beta, load1(to), value), to);
        }
      }
    }
  }
}
