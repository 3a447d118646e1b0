// Family `tile`: each work-item computes a ROW_TILE x COL_TILE tile of C, stepping along k by
// ACC_TILE. No local memory, no barriers.
//
//              n                     A is m x k (k x m if TRANSPOSE_A), B is k x n (n x k if
//          +---+---+---+             TRANSPOSE_B), C is m x n, all row-major. Columns are
//        k |   | B |   |             dimension 0, rows dimension 1, the batch dimension 2.
//     k    +---+---+---+
//   +----+ +---+---+---+
// m | A  | |   | C |   |  ROW_TILE
//   +----+ +---+---+---+
//           COL_TILE
//
// Positions within one matrix fit 32 bits (the host checks), those between matrices need not.
#if !defined(ROW_TILE) || !defined(ACC_TILE) || !defined(COL_TILE)
#error "define ROW_TILE, ACC_TILE and COL_TILE: 1, 2, 4 or 8"
#endif
#if !defined(TRANSPOSE_A) || !defined(TRANSPOSE_B) || !defined(NATIVE)
#error "define TRANSPOSE_A, TRANSPOSE_B and NATIVE: 0 or 1"
#endif

// VECTOR(type): so many in a row as a tile has columns.
#if COL_TILE == 1
#define VECTOR(type) type
#else
#define VECTOR(type) WIDE(type, COL_TILE)
#endif
typedef VECTOR(float) tile_row;

// Whole steps multiply `number`s. NATIVE, where the device can: in half precision, whose sums of
// ACC_TILE products are then added in single precision, so that a long k costs no accuracy.
#if NATIVE && defined(cl_khr_fp16)
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
typedef half number;
typedef half2 number2;
typedef half4 number4;
typedef half8 number8;
#define TAKE_1(from) (*(from))
#define TAKE_2(from) vload2(0, from)
#define TAKE_4(from) vload4(0, from)
#define TAKE_8(from) vload8(0, from)
#define WIDER VECTOR(convert_float)
#else
typedef float number;
typedef float2 number2;
typedef float4 number4;
typedef float8 number8;
#define TAKE_1(from) LOAD_1(from)
#define TAKE_2(from) LOAD_2(from)
#define TAKE_4(from) LOAD_4(from)
#define TAKE_8(from) LOAD_8(from)
#endif
typedef VECTOR(number) number_row;

kernel void gemm(uint m, uint n, uint k, float alpha, float beta,
                 global const element *restrict a, ulong a_offset, uint a_leading, ulong a_stride,
                 global const element *restrict b, ulong b_offset, uint b_leading, ulong b_stride,
                 global element *restrict c, ulong c_offset, uint c_leading, ulong c_stride) {
  const uint row = (uint)get_global_id(1) * ROW_TILE;
  const uint column = (uint)get_global_id(0) * COL_TILE;
  const ulong batch = get_global_id(2);
  if (row >= m || column >= n) {
    return;
  }
  // A tile that would cross an edge of C moves back over its neighbour, computes some of its
  // elements once more, and stores only its own. So nothing within the loop along k asks for edges.
  const uint top = min(row, max(m, (uint)ROW_TILE) - ROW_TILE);
  const uint side = min(column, max(n, (uint)COL_TILE) - COL_TILE);
  a += a_offset + batch * a_stride;
  b += b_offset + batch * b_stride;
  c += c_offset + batch * c_stride + top * c_leading + side;

  // Where row i of the tile begins in A, and column j in B. A C with fewer rows or columns than a
  // tile repeats its last.
#define ROW_AT(i) (min(top + (i), m - 1) * (TRANSPOSE_A ? 1 : a_leading))
#define COLUMN_AT(j) (min(side + (j), n - 1) * (TRANSPOSE_B ? b_leading : 1))
  const ulong a_step = TRANSPOSE_A ? a_leading : 1;
  const ulong b_step = TRANSPOSE_B ? 1 : b_leading;

  tile_row sum[ROW_TILE];
#pragma unroll
  for (uint i = 0; i < ROW_TILE; ++i) {
    sum[i] = (tile_row)(0.0f);
  }

  uint steps = k;
  // Vectors of rows or columns need that many.
  if ((m >= ROW_TILE || !TRANSPOSE_A) && (n >= COL_TILE || TRANSPOSE_B)) {
    for (; steps >= ACC_TILE; steps -= ACC_TILE) {
#if TRANSPOSE_A
      number left[ACC_TILE][ROW_TILE];
#pragma unroll
      for (uint l = 0; l < ACC_TILE; ++l) {
        WIDE(SPREAD_, ROW_TILE)(number, WIDE(TAKE_, ROW_TILE)(a + l * a_leading + top), left[l]);
      }
#define LEFT(i, l) left[l][i]
#else
      number left[ROW_TILE][ACC_TILE];
#pragma unroll
      for (uint i = 0; i < ROW_TILE; ++i) {
        WIDE(SPREAD_, ACC_TILE)(number, WIDE(TAKE_, ACC_TILE)(a + ROW_AT(i)), left[i]);
      }
#define LEFT(i, l) left[i][l]
#endif
#if TRANSPOSE_B
      number right[COL_TILE][ACC_TILE];
#pragma unroll
      for (uint j = 0; j < COL_TILE; ++j) {
        WIDE(SPREAD_, ACC_TILE)(number, WIDE(TAKE_, ACC_TILE)(b + COLUMN_AT(j)), right[j]);
      }
#endif
#ifdef WIDER
      number_row run[ROW_TILE];
#pragma unroll
      for (uint i = 0; i < ROW_TILE; ++i) {
        run[i] = (number_row)(0.0f);
      }
#define RUN(i) run[i]
#else
#define RUN(i) sum[i]
#endif
#pragma unroll
      for (uint l = 0; l < ACC_TILE; ++l) {
#if TRANSPOSE_B
        number across[COL_TILE];
#pragma unroll
        for (uint j = 0; j < COL_TILE; ++j) {
          across[j] = right[j][l];
        }
        const number_row right_row = WIDE(PACK_, COL_TILE)(number, across);
#else
        const number_row right_row = WIDE(TAKE_, COL_TILE)(b + l * b_leading + side);
#endif
#pragma unroll
        for (uint i = 0; i < ROW_TILE; ++i) {
          // Written so that a compiler may fuse it: some have a mad that does not.
          RUN(i) += (number_row)(LEFT(i, l)) * right_row;
        }
      }
#ifdef WIDER
#pragma unroll
      for (uint i = 0; i < ROW_TILE; ++i) {
        sum[i] += WIDER(run[i]);
      }
#endif
      a += ACC_TILE * a_step;
      b += ACC_TILE * b_step;
    }
  }
  // What is left of k, element by element.
  for (; steps > 0; --steps) {
    float across[COL_TILE];
#pragma unroll
    for (uint j = 0; j < COL_TILE; ++j) {
      across[j] = LOAD_1(b + COLUMN_AT(j));
    }
    const tile_row right_row = WIDE(PACK_, COL_TILE)(float, across);
#pragma unroll
    for (uint i = 0; i < ROW_TILE; ++i) {
      sum[i] += (tile_row)(LOAD_1(a + ROW_AT(i))) * right_row;
    }
    a += a_step;
    b += b_step;
  }

  // Without products there is nothing that alpha could turn into NaN.
  const float factor = k == 0 ? 0.0f : alpha;
  if (top == row && side == column && m >= ROW_TILE && n >= COL_TILE) {
#pragma unroll
    for (uint i = 0; i < ROW_TILE; ++i) {
      global element *to = c + i * c_leading;
      tile_row value = factor * sum[i];
      if (beta != 0.0f) {
        value = mad((tile_row)(beta), WIDE(LOAD_, COL_TILE)(to), value);
      }
      WIDE(STORE_, COL_TILE)(value, to);
    }
    return;
  }
  // A tile at an edge stores its own elements, without an array that is indexed at run time.
#pragma unroll
  for (uint i = 0; i < ROW_TILE; ++i) {
    float values[COL_TILE];
    WIDE(SPREAD_, COL_TILE)(float, factor * sum[i], values);
    if (i >= row - top && i < m - top) {
#pragma unroll
      for (uint j = 0; j < COL_TILE; ++j) {
        if (j >= column - side && j < n - side) {
          global element *to = c + i * c_leading + j;
          STORE_1(beta == 0.0f ? values[j] : mad(beta, LOAD_1(to), values[j]), to);
        }
      }
    }
  }
}
