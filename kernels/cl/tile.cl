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
#if !defined(TRANSPOSE_A) || !defined(TRANSPOSE_B) || !defined(HALF)
#error "define TRANSPOSE_A, TRANSPOSE_B and HALF: 0 or 1"
#endif

#if HALF
typedef half element;
#define LOAD_ONE(from) vload_half(0, from)
#define LOAD_MANY(width, from) vload_half##width(0, from)
#define STORE_ONE(value, to) vstore_half(value, 0, to)
#define STORE_MANY(width, value, to) vstore_half##width(value, 0, to)
#else
typedef float element;
#define LOAD_ONE(from) (*(from))
#define LOAD_MANY(width, from) vload##width(0, from)
#define STORE_ONE(value, to) (*(to) = (value))
#define STORE_MANY(width, value, to) vstore##width(value, 0, to)
#endif

#define COPY_1(to, from) ((to)[0] = LOAD_ONE(from))
#define COPY_2(to, from) vstore2(LOAD_MANY(2, from), 0, to)
#define COPY_4(to, from) vstore4(LOAD_MANY(4, from), 0, to)
#define COPY_8(to, from) vstore8(LOAD_MANY(8, from), 0, to)
#define BACK_1(to, from) STORE_ONE((from)[0], to)
#define BACK_2(to, from) STORE_MANY(2, vload2(0, from), to)
#define BACK_4(to, from) STORE_MANY(4, vload4(0, from), to)
#define BACK_8(to, from) STORE_MANY(8, vload8(0, from), to)
#define PASTE(name, width) name##width
#define WIDE(name, width) PASTE(name, width)
#define COPY(width, to, from) WIDE(COPY_, width)(to, from)
#define BACK(width, to, from) WIDE(BACK_, width)(to, from)

kernel void gemm(uint m, uint n, uint k, float alpha, float beta,
                 global const element *restrict a, ulong a_offset, uint a_leading, ulong a_stride,
                 global const element *restrict b, ulong b_offset, uint b_leading, ulong b_stride,
                 global element *restrict c, ulong c_offset, uint c_leading, ulong c_stride) {
  const uint column = (uint)get_global_id(0) * COL_TILE;
  const uint row = (uint)get_global_id(1) * ROW_TILE;
  const ulong batch = get_global_id(2);
  if (row >= m || column >= n) {
    return;
  }
  a += a_offset + batch * a_stride;
  b += b_offset + batch * b_stride;
  c += c_offset + batch * c_stride;

  float sum[ROW_TILE][COL_TILE];
#pragma unroll
  for (int i = 0; i < ROW_TILE; ++i) {
#pragma unroll
    for (int j = 0; j < COL_TILE; ++j) {
      sum[i][j] = 0.0f;
    }
  }

  const uint rows = min((uint)ROW_TILE, m - row);
  const uint columns = min((uint)COL_TILE, n - column);
  uint step = 0;
  if (rows == ROW_TILE && columns == COL_TILE) {
    for (; step + ACC_TILE <= k; step += ACC_TILE) {
      // left[i][l] = A(row + i, step + l) and right[l][j] = B(step + l, column + j), as stored.
#if TRANSPOSE_A
      float left[ACC_TILE][ROW_TILE];
#pragma unroll
      for (int l = 0; l < ACC_TILE; ++l) {
        COPY(ROW_TILE, left[l], a + (step + l) * a_leading + row);
      }
#define LEFT(i, l) left[l][i]
#else
      float left[ROW_TILE][ACC_TILE];
#pragma unroll
      for (int i = 0; i < ROW_TILE; ++i) {
        COPY(ACC_TILE, left[i], a + (row + i) * a_leading + step);
      }
#define LEFT(i, l) left[i][l]
#endif
#if TRANSPOSE_B
      float right[COL_TILE][ACC_TILE];
#pragma unroll
      for (int j = 0; j < COL_TILE; ++j) {
        COPY(ACC_TILE, right[j], b + (column + j) * b_leading + step);
      }
#define RIGHT(l, j) right[j][l]
#else
      float right[ACC_TILE][COL_TILE];
#pragma unroll
      for (int l = 0; l < ACC_TILE; ++l) {
        COPY(COL_TILE, right[l], b + (step + l) * b_leading + column);
      }
#define RIGHT(l, j) right[l][j]
#endif
#pragma unroll
      for (int l = 0; l < ACC_TILE; ++l) {
#pragma unroll
        for (int i = 0; i < ROW_TILE; ++i) {
#pragma unroll
          for (int j = 0; j < COL_TILE; ++j) {
            sum[i][j] = fma(LEFT(i, l), RIGHT(l, j), sum[i][j]);
          }
        }
      }
    }
  }
  // What is left of k; all of it where the tile crosses the edge of C.
  for (; step < k; ++step) {
#pragma unroll
    for (int i = 0; i < ROW_TILE; ++i) {
      if (i < rows) {
#if TRANSPOSE_A
        const float left = LOAD_ONE(a + step * a_leading + (row + i));
#else
        const float left = LOAD_ONE(a + (row + i) * a_leading + step);
#endif
#pragma unroll
        for (int j = 0; j < COL_TILE; ++j) {
          if (j < columns) {
#if TRANSPOSE_B
            const float right = LOAD_ONE(b + (column + j) * b_leading + step);
#else
            const float right = LOAD_ONE(b + step * b_leading + (column + j));
#endif
            sum[i][j] = fma(left, right, sum[i][j]);
          }
        }
      }
    }
  }

#pragma unroll
  for (int i = 0; i < ROW_TILE; ++i) {
#pragma unroll
    for (int j = 0; j < COL_TILE; ++j) {
      if (i < rows && j < columns) {
        global element *to = c + (row + i) * c_leading + (column + j);
        const float value = alpha * sum[i][j];
        STORE_ONE(beta == 0.0f ? value : fma(beta, LOAD_ONE(to), value), to);
      }
    }
  }
}
