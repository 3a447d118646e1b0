// Family `packed`: operands are first rearranged into panels of f32, padded with zeros, so that what
// multiplies them reads memory from one end to the other and asks for no edges but C's.
//
//               n                    A is m x k (k x m if TRANSPOSE_A), B is k x n (n x k if
//          +--+--+--+                TRANSPOSE_B), C is m x n, all row-major. A work-item computes
//        k |  |B |  |                PANELS tiles of ROWS x COLUMNS below one another. Columns are
//          +--+--+--+                dimension 0, rows dimension 1, the batch dimension 2.
//   +----+ +--+--+--+
// m +----+ +--+--+--+ ROWS           A panel of A is what a row of a work-group's items reads at
//   | A  | |  |C |  | ...            once, ROWS * GROUP_ROWS rows, step by step along k; a panel of
//   +----+ +--+--+--+ PANELS         B likewise is COLUMNS * GROUP_COLUMNS columns:
//   +----+ +--+--+--+
//           COLUMNS                    scratch: k x (ROWS * GROUP_ROWS) floats, the next panel, ...
//
// PACK_A: 0, A is read where it is; 1, from scratch memory. PACK_B: 0 and 1 likewise; 2, each
// work-item (alone in its work-group) copies BLOCK steps of its columns into local memory at a time
// and keeps the sums of its tiles there too.
//
// Positions within one matrix fit 32 bits (the host checks), those between matrices need not.
#if !defined(ROWS) || !defined(COLUMNS) || !defined(PANELS)
#error "define ROWS and PANELS: 1 or more, and COLUMNS: 4, 8 or 16"
#endif
#if !defined(GROUP_ROWS) || !defined(GROUP_COLUMNS)
#error "define GROUP_ROWS and GROUP_COLUMNS: work-items of a work-group"
#endif
#if !defined(PACK_A) || !defined(PACK_B)
#error "define PACK_A: 0 or 1, and PACK_B: 0, 1 or 2"
#endif
#if PACK_B == 2 && (!defined(BLOCK) || GROUP_ROWS != 1 || GROUP_COLUMNS != 1)
#error "PACK_B 2 wants BLOCK, steps along k, and work-groups of one work-item"
#endif
#if (PACK_A == 1 || PACK_B == 1) && !defined(CHUNK)
#error "define CHUNK: steps along k that a work-item packs"
#endif
#if !defined(TRANSPOSE_A) || !defined(TRANSPOSE_B)
#error "define TRANSPOSE_A and TRANSPOSE_B: 0 or 1"
#endif

#if PACK_A == 1 || PACK_B == 1
#define SCRATCH , uint parts, global float *restrict scratch
#else
#define SCRATCH
#endif
#define ARGUMENTS                                                                                  \
  uint m, uint n, uint k, float alpha, float beta, global const element *restrict a,               \
      ulong a_offset, uint a_leading, ulong a_stride, global const element *restrict b,            \
      ulong b_offset, uint b_leading, ulong b_stride, global element *restrict c, ulong c_offset,  \
      uint c_leading, ulong c_stride SCRATCH

#define A_AT(row, step)                                                                            \
  ((row) * (TRANSPOSE_A ? 1 : a_leading) + (step) * (TRANSPOSE_A ? a_leading : 1))
#define B_AT(step, column)                                                                         \
  ((column) * (TRANSPOSE_B ? b_leading : 1) + (step) * (TRANSPOSE_B ? 1 : b_leading))

#define A_WIDTH (ROWS * GROUP_ROWS)
#define B_WIDTH (COLUMNS * GROUP_COLUMNS)
#define PANEL_COUNT(size, width) (((size) - 1) / (width) + 1)

// Floats of the panels of one matrix; 0 if it is not packed.
#define A_FLOATS (PACK_A == 1 ? (ulong)PANEL_COUNT(m, A_WIDTH) * A_WIDTH * k : 0ul)
#define B_FLOATS (PACK_B == 1 ? (ulong)PANEL_COUNT(n, B_WIDTH) * B_WIDTH * k : 0ul)

// Where the panels of a matrix of the batch begin in scratch memory: first those of an A and a B
// that all of the batch share, then matrix by matrix A's and B's.
#define SHARED_FLOATS ((a_stride == 0 ? A_FLOATS : 0ul) + (b_stride == 0 ? B_FLOATS : 0ul))
#define OWN_FLOATS ((a_stride == 0 ? 0ul : A_FLOATS) + (b_stride == 0 ? 0ul : B_FLOATS))
#define A_PANELS (a_stride == 0 ? 0ul : SHARED_FLOATS + batch * OWN_FLOATS)
#define B_PANELS                                                                                   \
  (b_stride == 0 ? (a_stride == 0 ? A_FLOATS : 0ul)                                                \
                 : SHARED_FLOATS + batch * OWN_FLOATS + (a_stride == 0 ? 0ul : A_FLOATS))

#if PACK_A == 1 || PACK_B == 1
// Dimension 0 counts chunks of k, dimension 1 strips of ROWS rows of A, then of COLUMNS columns of
// B, each up to the end of its last panel.
kernel void pack(ARGUMENTS) {
  const ulong first_step = get_global_id(0) * (ulong)CHUNK;
  ulong strip = get_global_id(1);
  const ulong batch = get_global_id(2);
  const ulong a_strips = PACK_A == 1 ? (ulong)PANEL_COUNT(m, A_WIDTH) * GROUP_ROWS : 0;
  const ulong b_strips = PACK_B == 1 ? (ulong)PANEL_COUNT(n, B_WIDTH) * GROUP_COLUMNS : 0;
  if (first_step >= k || strip >= a_strips + b_strips) {
    return;
  }
  const uint steps = min((ulong)CHUNK, k - first_step);
#if PACK_A == 1
  if (strip < a_strips) {
    if (batch > 0 && a_stride == 0) {
      return;
    }
    const ulong row = strip * ROWS;
    a += a_offset + batch * a_stride + A_AT(0u, (uint)first_step);
    scratch += A_PANELS + strip / GROUP_ROWS * A_WIDTH * k + first_step * A_WIDTH +
               strip % GROUP_ROWS * ROWS;
    for (uint l = 0; l < steps; ++l) {
#pragma unroll
      for (uint i = 0; i < ROWS; ++i) {
        const float value = LOAD_1(a + A_AT((uint)min(row + i, m - 1ul), l));
        scratch[i] = row + i < m ? value : 0.0f;
      }
      scratch += A_WIDTH;
    }
    return;
  }
  strip -= a_strips;
#endif
#if PACK_B == 1
  if (batch > 0 && b_stride == 0) {
    return;
  }
  const ulong column = strip * COLUMNS;
  b += b_offset + batch * b_stride + B_AT((uint)first_step, 0u);
  scratch += B_PANELS + strip / GROUP_COLUMNS * B_WIDTH * k + first_step * B_WIDTH +
             strip % GROUP_COLUMNS * COLUMNS;
  if (!TRANSPOSE_B && n >= COLUMNS && column <= n - COLUMNS) {
    for (uint l = 0; l < steps; ++l) {
      WIDE(vstore, COLUMNS)(WIDE(LOAD_, COLUMNS)(b + B_AT(l, (uint)column)), 0, scratch);
      scratch += B_WIDTH;
    }
    return;
  }
  for (uint l = 0; l < steps; ++l) {
#pragma unroll
    for (uint j = 0; j < COLUMNS; ++j) {
      const float value = LOAD_1(b + B_AT(l, (uint)min(column + j, n - 1ul)));
      scratch[j] = column + j < n ? value : 0.0f;
    }
    scratch += B_WIDTH;
  }
#endif
}
#endif

#if PACK_B == 2
// Steps of the columns from `column` on, one after another; zeros beyond column n.
static inline void copy_block(local float *to, global const element *from, uint b_leading,
                              uint steps, uint column, uint n) {
  if (!TRANSPOSE_B && n >= COLUMNS && column <= n - COLUMNS) {
    for (uint l = 0; l < steps; ++l) {
      WIDE(vstore, COLUMNS)(WIDE(LOAD_, COLUMNS)(from + B_AT(l, column)), l, to);
    }
    return;
  }
  for (uint l = 0; l < steps; ++l) {
#pragma unroll
    for (uint j = 0; j < COLUMNS; ++j) {
      const float value = LOAD_1(from + B_AT(l, column + min(j, n - 1 - column)));
      to[l * COLUMNS + j] = j < n - column ? value : 0.0f;
    }
  }
}
#endif

#define PUT(width, vector)                                                                         \
  static inline void put_##width(vector value, global element *to, float beta) {                   \
    if (beta != 0.0f) {                                                                            \
      value = mad((vector)(beta), LOAD_##width(to), value);                                        \
    }                                                                                              \
    STORE_##width(value, to);                                                                      \
  }

// put_<width> stores elements of C that are next to each other. put_some_<width> stores only `count`
// of them, fewer than there are: the last ones before `to` where a tile may have moved back (see
// below), else the first ones from `to` on.
#define LAST (PACK_B == 0)
#define PUT_SOME(width, half_width, half_vector)                                                   \
  static inline void put_some_##width(float##width value, global element *to, uint count,          \
                                      float beta) {                                                \
    half_vector next = LAST ? value.hi : value.lo;                                                 \
    half_vector rest = LAST ? value.lo : value.hi;                                                 \
    if (count & half_width) {                                                                      \
      put_##half_width(next, to - (LAST ? half_width : 0), beta);                                  \
      to = LAST ? to - half_width : to + half_width;                                               \
    } else {                                                                                       \
      rest = next;                                                                                 \
    }                                                                                              \
    put_some_##half_width(rest, to, count, beta);                                                  \
  }
#define put_some_1(value, to, count, beta) (void)(value), (void)(to)

PUT(1, float)
PUT(2, float2)
PUT(4, float4)
PUT_SOME(2, 1, float)
PUT_SOME(4, 2, float2)
#if COLUMNS >= 8
PUT(8, float8)
PUT_SOME(8, 4, float4)
#endif
#if COLUMNS == 16
PUT(16, float16)
PUT_SOME(16, 8, float8)
#endif

typedef WIDE(float, COLUMNS) tile_row;

// Where panels are whole float4s in step with scratch memory, whose beginning is aligned, loads say
// so. Processors that work-groups of one are for gain nothing by it.
#define QUADS (GROUP_ROWS * GROUP_COLUMNS > 1 && ROWS % 4 == 0)

// A tile that owns no more than half of its columns multiplies only the half where they are.
#if COLUMNS == 16
#define NARROW 8
#elif COLUMNS == 8
#define NARROW 4
#else
#define NARROW 2
#endif
typedef WIDE(float, NARROW) narrow_row;
#if PACK_B == 0
#define OWN_HALF hi
#define OWN_HALF_AT NARROW
#else
#define OWN_HALF lo
#define OWN_HALF_AT 0
#endif

kernel void gemm(ARGUMENTS) {
  const ulong first_row = get_global_id(1) * (ulong)(ROWS * PANELS);
  const ulong first_column = get_global_id(0) * (ulong)COLUMNS;
  const ulong batch = get_global_id(2);
  if (first_row >= m || first_column >= n) {
    return;
  }
  const uint column = first_column;
  const uint own = min(n - column, (uint)COLUMNS);
  // A tile of a B that is read in place moves back over its neighbour where it would cross the last
  // column of C, and stores only its own.
  const uint side = PACK_B == 0 ? min(column, max(n, (uint)COLUMNS) - COLUMNS) : column;
  a += a_offset + batch * a_stride;
  b += b_offset + batch * b_stride;
  c += c_offset + batch * c_stride;
  // Without products there is nothing that alpha could turn into NaN.
  const float factor = k == 0 ? 0.0f : alpha;

#if PACK_B == 2
  local float block[BLOCK * COLUMNS];
  local float sums[PANELS * ROWS * COLUMNS];
  uint done = 0;
  do {
    const uint steps = min(k - done, (uint)BLOCK);
    copy_block(block, b + B_AT(done, 0u), b_leading, steps, column, n);
#else
  const uint done = 0, steps = k;
  {
#endif
    // Row by row of tiles.
    for (uint tile = 0; tile < PANELS; ++tile) {
      const ulong tile_row_at = first_row + tile * ROWS;
      if (tile_row_at >= m) {
        break;
      }
      const uint row = tile_row_at;
      tile_row sum[ROWS];
#pragma unroll
      for (uint i = 0; i < ROWS; ++i) {
        sum[i] = (tile_row)(0.0f);
      }
#if PACK_B == 2
      if (done > 0) {
#pragma unroll
        for (uint i = 0; i < ROWS; ++i) {
          sum[i] = WIDE(vload, COLUMNS)(tile * ROWS + i, sums);
        }
      }
#endif

#if PACK_A == 1
      const uint strip = row / ROWS;
      global const float *left = scratch + A_PANELS +
                                 (ulong)(strip / GROUP_ROWS) * A_WIDTH * k +
                                 (ulong)done * A_WIDTH + strip % GROUP_ROWS * ROWS;
#define LEFT_STEP A_WIDTH
#if QUADS
      float left_column[ROWS];
#define LEFT(i) left_column[i]
#define FETCH_LEFT \
  ALL_OF(q, ROWS / 4) { SPREAD_4(float, ((global const float4 *)left)[q], left_column + q * 4); }
#else
#define LEFT(i) left[i]
#define FETCH_LEFT
#endif
#else
      // The rows of the last tile repeat A's last.
      uint row_at[ROWS];
#pragma unroll
      for (uint i = 0; i < ROWS; ++i) {
        row_at[i] = A_AT(row + min(i, m - 1 - row), done);
      }
      global const element *left = a;
#define LEFT(i) LOAD_1(left + row_at[i])
#define FETCH_LEFT
#define LEFT_STEP (TRANSPOSE_A ? a_leading : 1)
#endif

#if PACK_B == 1
      const uint right_strip = column / COLUMNS;
      global const float *right = scratch + B_PANELS +
                                  (ulong)(right_strip / GROUP_COLUMNS) * B_WIDTH * k +
                                  right_strip % GROUP_COLUMNS * COLUMNS;
#define RIGHT(width, from) WIDE(vload, width)(0, from)
#if QUADS && COLUMNS == 4
#define RIGHT_ROW *(global const float4 *)right
#elif QUADS && COLUMNS == 8
#define RIGHT_ROW (float8)(((global const float4 *)right)[0], ((global const float4 *)right)[1])
#else
#define RIGHT_ROW RIGHT(COLUMNS, right)
#endif
#define RIGHT_STEP B_WIDTH
#elif PACK_B == 2
      local const float *right = block;
#define RIGHT(width, from) WIDE(vload, width)(0, from)
#define RIGHT_ROW RIGHT(COLUMNS, right)
#define RIGHT_STEP COLUMNS
#else
      global const element *right = b + side;
#define RIGHT(width, from) WIDE(LOAD_, width)(from)
#define RIGHT_ROW RIGHT(COLUMNS, right)
#define RIGHT_STEP b_leading
#endif

#if PACK_B == 0
      if (TRANSPOSE_B || n < COLUMNS) {
        // Columns one by one. A C with fewer than a tile's has them last, after copies of its first.
        const uint missing = max(n, (uint)COLUMNS) - n;
        uint column_at[COLUMNS];
#pragma unroll
        for (uint j = 0; j < COLUMNS; ++j) {
          column_at[j] = B_AT(0u, side + max(j, missing) - missing);
        }
        right = b;
        for (uint l = 0; l < steps; ++l) {
          float across[COLUMNS];
#pragma unroll
          for (uint j = 0; j < COLUMNS; ++j) {
            across[j] = LOAD_1(right + column_at[j]);
          }
          const tile_row right_row = WIDE(PACK_, COLUMNS)(float, across);
          FETCH_LEFT
#pragma unroll
          for (uint i = 0; i < ROWS; ++i) {
            sum[i] += (tile_row)(LEFT(i)) * right_row;
          }
          left += LEFT_STEP;
          right += TRANSPOSE_B ? 1 : b_leading;
        }
      } else
#endif
      if (own <= NARROW) {
        narrow_row part[ROWS];
#pragma unroll
        for (uint i = 0; i < ROWS; ++i) {
          part[i] = sum[i].OWN_HALF;
        }
        for (uint l = 0; l < steps; ++l) {
          const narrow_row right_row = RIGHT(NARROW, right + OWN_HALF_AT);
          FETCH_LEFT
#pragma unroll
          for (uint i = 0; i < ROWS; ++i) {
            part[i] += (narrow_row)(LEFT(i)) * right_row;
          }
          left += LEFT_STEP;
          right += RIGHT_STEP;
        }
#pragma unroll
        for (uint i = 0; i < ROWS; ++i) {
          sum[i].OWN_HALF = part[i];
        }
      } else {
        for (uint l = 0; l < steps; ++l) {
          const tile_row right_row = RIGHT_ROW;
          FETCH_LEFT
#pragma unroll
          for (uint i = 0; i < ROWS; ++i) {
            // Written so that a compiler may fuse it: some have a mad that does not.
            sum[i] += (tile_row)(LEFT(i)) * right_row;
          }
          left += LEFT_STEP;
          right += RIGHT_STEP;
        }
      }

#if PACK_B == 2
      if (done + steps < k) {
#pragma unroll
        for (uint i = 0; i < ROWS; ++i) {
          WIDE(vstore, COLUMNS)(sum[i], tile * ROWS + i, sums);
        }
        continue;
      }
#endif
#pragma unroll
      for (uint i = 0; i < ROWS; ++i) {
        if (i < m - row) {
          global element *to = c + (row + i) * c_leading;
          if (own == COLUMNS) {
            WIDE(put_, COLUMNS)(factor * sum[i], to + column, beta);
          } else {
            WIDE(put_some_, COLUMNS)(factor * sum[i], to + (LAST ? n : column), own, beta);
          }
        }
      }
    }
#if PACK_B == 2
    done += steps;
  } while (done < k);
#else
  }
#endif
}
