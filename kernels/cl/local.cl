// Families `local` and `split`: a work-group computes a TILE_M x TILE_N tile of C from tiles of A
// and B in local memory, a work-item ITEM_M x ITEM_N of it from registers. While one pair of tiles
// is multiplied the next is on its way from memory to registers, and then goes to the other half
// of local memory: one barrier for TILE_K steps along k. With SLICES above 1 so many teams of
// work-items each take their share of these steps, and the teams' sums are added at the end: a
// small C keeps a device busy with one launch.
//
//                TILE_N            A is m x k (k x m if TRANSPOSE_A), B is k x n (n x k if
//              +---------+         TRANSPOSE_B), C is m x n, all row-major. Columns are dimension 0,
//       TILE_K |    B    |         rows dimension 1; dimension 2 is the batch, times the parts of k
//              +---------+         if SPLIT, times the slices.
//       +-----++---------+
// TILE_M|  A  ||    C    |
//       |     ||         |
//       +-----++---------+
//
// With SPLIT each part of k writes its sums to the scratch memory, and `reduce` adds them in the
// order of the parts. Positions within one matrix fit 32 bits (the host checks), those between
// matrices need not.
#if !defined(TILE_M) || !defined(TILE_N) || !defined(TILE_K) || !defined(ITEM_M) || !defined(ITEM_N)
#error "define TILE_M, TILE_N and TILE_K, and ITEM_M and ITEM_N, multiples of 4 that divide them"
#endif
#if !defined(SLICES)
#error "define SLICES: 1, 2, 4 or 8, a divisor of TILE_K"
#endif
#if !defined(TRANSPOSE_A) || !defined(TRANSPOSE_B) || !defined(HALF) || !defined(SPLIT)
#error "define TRANSPOSE_A, TRANSPOSE_B, HALF and SPLIT: 0 or 1"
#endif

// Work-items along columns and rows of the tile. Neighbours hold four columns or rows each, so
// that they read consecutive vectors; 8 along columns share a row of A.
#define ACROSS (TILE_N / ITEM_N)
#define DOWN (TILE_M / ITEM_M)
#define TEAM (ACROSS * DOWN)
#define GROUP (TEAM * SLICES)
// Steps of a tile that a team takes.
#define SHARE (TILE_K / SLICES)
#define SIDE_BY_SIDE (ACROSS < 8 ? ACROSS : 8)

// A tile in local memory has a row for each step along k. Vectors along k are spread over four
// rows: padding keeps those in different banks.
#define A_ROW (TILE_M + (TRANSPOSE_A ? 0 : 4))
#define B_ROW (TILE_N + (TRANSPOSE_B ? 4 : 0))
// Two tiles of each in local memory; in the end, the sums of all teams but the first.
#define A_TILE (TILE_K * A_ROW)
#define B_TILE (TILE_K * B_ROW)
#define TILES (2 * (A_TILE + B_TILE))
#define SUMS ((SLICES - 1) * TILE_M * TILE_N)
// Vectors of each tile that a work-item moves.
#define A_VECTORS (TILE_M * TILE_K / 4 / GROUP)
#define B_VECTORS (TILE_N * TILE_K / 4 / GROUP)

// Vector `v` of a work-item lies along k: at step STEP_ALONG of row ROW_ALONG of its tile.
#define VECTOR(v) (item + (v) * GROUP)
#define STEP_ALONG(v) (VECTOR(v) % (TILE_K / 4) * 4)
#define ROW_ALONG(v) (VECTOR(v) / (TILE_K / 4))
// Or it lies across k: at step STEP_ACROSS, from column COLUMN_ACROSS on.
#define STEP_ACROSS(v, tile) (VECTOR(v) / ((tile) / 4))
#define COLUMN_ACROSS(v, tile) (VECTOR(v) % ((tile) / 4) * 4)

// PLACE_*: position of a vector in its matrix at the first step. A row or vector beyond the matrix
// gives way to the last one, which is read again but not stored.
// FETCH_*: four elements; unless all of a tile's vectors are whole and aligned, one by one, with
// zeros beyond k and beyond the matrix.
// KEEP_*: from registers to local memory.
#define PLACE_ALONG(v, start, size, leading) \
  (min((start) + ROW_ALONG(v), (size)-1) * (leading) + STEP_ALONG(v) + first)
#define PLACE_ACROSS(v, tile, start, size, leading, wide)  \
  ((first + STEP_ACROSS(v, tile)) * (leading) +            \
   ((wide) ? min((start) + COLUMN_ACROSS(v, tile), (size)-4) : (start) + COLUMN_ACROSS(v, tile)))
#define FETCH_ALONG(v, from, whole) \
  ((whole) ? fetch4(from) : fetch_some(from, below(STEP_ALONG(v), rest)))
#define FETCH_ACROSS(v, tile, start, size, from, whole) \
  ((whole) ? fetch4(from)                                \
           : fetch_some(from, STEP_ACROSS(v, tile) < rest \
                                  ? below((start) + COLUMN_ACROSS(v, tile), size) : 0))
#define KEEP_ALONG(v, value, tile, row)                                  \
  {                                                                      \
    local float *to = (tile) + STEP_ALONG(v) * (row) + ROW_ALONG(v);     \
    const float4 kept = value;                                           \
    to[0] = kept.x;                                                      \
    to[row] = kept.y;                                                    \
    to[2 * (row)] = kept.z;                                              \
    to[3 * (row)] = kept.w;                                              \
  }
#define KEEP_ACROSS(v, value, size, tile, row) \
  *(local float4 *)((tile) + STEP_ACROSS(v, size) * (row) + COLUMN_ACROSS(v, size)) = (value)

kernel __attribute__((reqd_work_group_size(ACROSS, DOWN, SLICES)))
void gemm(uint m, uint n, uint k, float alpha, float beta,
          global const element *restrict a, ulong a_offset, uint a_leading, ulong a_stride,
          global const element *restrict b, ulong b_offset, uint b_leading, ulong b_stride,
          global element *restrict c, ulong c_offset, uint c_leading, ulong c_stride
#if SPLIT
          , uint parts, global float *restrict scratch
#endif
) {
  local float memory[TILES > SUMS ? TILES : SUMS] __attribute__((aligned(16)));
  local float *a_tiles = memory;
  local float *b_tiles = memory + 2 * A_TILE;
  const uint member = get_local_id(0) + get_local_id(1) * ACROSS;
  const uint slice = SLICES > 1 ? get_local_id(2) : 0;
  const uint item = member + slice * TEAM;
  const uint tx = member % SIDE_BY_SIDE + member / (SIDE_BY_SIDE * DOWN) * SIDE_BY_SIDE;
  const uint ty = member / SIDE_BY_SIDE % DOWN;
  const ulong layer = get_global_id(2) / SLICES;
  const uint side = (uint)(get_global_id(0) / ACROSS) * TILE_N;
  const uint top = (uint)(get_global_id(1) / DOWN) * TILE_M;
#if SPLIT
  // Each part takes whole tiles along k.
  const uint each = parts == 1 ? k : ((k - 1) / parts / TILE_K + 1) * TILE_K;
  const ulong batch = layer / parts;
  const uint first = min((uint)(layer % parts) * each, k);
  uint rest = min(each, k - first);
#else
  const ulong batch = layer;
  const uint first = 0;
  uint rest = k;
#endif
  a += a_offset + batch * a_stride;
  b += b_offset + batch * b_stride;

  // Whether vectors of four are aligned, and none crosses an edge other than that of k.
  const bool a_wide = ((a_offset | a_leading | a_stride | (TRANSPOSE_A ? m : 0)) & 3) == 0;
  const bool b_wide = ((b_offset | b_leading | b_stride | (TRANSPOSE_B ? 0 : n)) & 3) == 0;

  uint a_at[A_VECTORS], b_at[B_VECTORS];
  four a_next[A_VECTORS], b_next[B_VECTORS];
#if TRANSPOSE_A
#define A_STEP (TILE_K * a_leading)
#define A_PLACE(v) PLACE_ACROSS(v, TILE_M, top, m, a_leading, a_wide)
#define A_FETCH(v, whole) FETCH_ACROSS(v, TILE_M, top, m, a + a_at[v], whole)
#define A_KEEP(v, tile) KEEP_ACROSS(v, widen(a_next[v]), TILE_M, tile, A_ROW)
#else
#define A_STEP TILE_K
#define A_PLACE(v) PLACE_ALONG(v, top, m, a_leading)
#define A_FETCH(v, whole) FETCH_ALONG(v, a + a_at[v], whole)
#define A_KEEP(v, tile) KEEP_ALONG(v, widen(a_next[v]), tile, A_ROW)
#endif
#if TRANSPOSE_B
#define B_STEP TILE_K
#define B_PLACE(v) PLACE_ALONG(v, side, n, b_leading)
#define B_FETCH(v, whole) FETCH_ALONG(v, b + b_at[v], whole)
#define B_KEEP(v, tile) KEEP_ALONG(v, widen(b_next[v]), tile, B_ROW)
#else
#define B_STEP (TILE_K * b_leading)
#define B_PLACE(v) PLACE_ACROSS(v, TILE_N, side, n, b_leading, b_wide)
#define B_FETCH(v, whole) FETCH_ACROSS(v, TILE_N, side, n, b + b_at[v], whole)
#define B_KEEP(v, tile) KEEP_ACROSS(v, widen(b_next[v]), TILE_N, tile, B_ROW)
#endif

// The next tiles to registers; two branches, so that a whole tile takes the short one.
#define FETCH_TILES()                                                  \
  if (a_wide && rest >= TILE_K) {                                 \
    ALL_OF(v, A_VECTORS) { a_next[v] = A_FETCH(v, true); }             \
  } else {                                                             \
    ALL_OF(v, A_VECTORS) { a_next[v] = A_FETCH(v, false); }            \
  }                                                                    \
  if (b_wide && rest >= TILE_K) {                                 \
    ALL_OF(v, B_VECTORS) { b_next[v] = B_FETCH(v, true); }             \
  } else {                                                             \
    ALL_OF(v, B_VECTORS) { b_next[v] = B_FETCH(v, false); }            \
  }                                                                    \
  ALL_OF(v, A_VECTORS) { a_at[v] += A_STEP; }                          \
  ALL_OF(v, B_VECTORS) { b_at[v] += B_STEP; }
#define KEEP_TILES(half_of)                                                      \
  ALL_OF(v, A_VECTORS) { A_KEEP(v, a_tiles + (half_of) * A_TILE); }              \
  ALL_OF(v, B_VECTORS) { B_KEEP(v, b_tiles + (half_of) * B_TILE); }              \
  barrier(CLK_LOCAL_MEM_FENCE)

  ALL_OF(v, A_VECTORS) { a_at[v] = A_PLACE(v); }
  ALL_OF(v, B_VECTORS) { b_at[v] = B_PLACE(v); }

  float sum[ITEM_M][ITEM_N];
  ALL_OF(i, ITEM_M) {
    ALL_OF(j, ITEM_N) { sum[i][j] = 0.0f; }
  }

  if (rest > 0) {
    FETCH_TILES();
    KEEP_TILES(0);
  }
  uint now = 0;
  while (rest > 0) {
    rest -= min(rest, (uint)TILE_K);
    if (rest > 0) {
      FETCH_TILES();
    }
    local const float *a_tile = a_tiles + now * A_TILE + slice * SHARE * A_ROW + ty * 4;
    local const float *b_tile = b_tiles + now * B_TILE + slice * SHARE * B_ROW + tx * 4;
    ALL_OF(l, SHARE) {
      float left[ITEM_M], right[ITEM_N];
      ALL_OF(i, ITEM_M / 4) {
        SPREAD_4(float, *(local const float4 *)(a_tile + l * A_ROW + i * 4 * DOWN), left + i * 4);
      }
      ALL_OF(j, ITEM_N / 4) {
        SPREAD_4(float, *(local const float4 *)(b_tile + l * B_ROW + j * 4 * ACROSS),
                 right + j * 4);
      }
      ALL_OF(i, ITEM_M) {
        ALL_OF(j, ITEM_N) { sum[i][j] = mad(left[i], right[j], sum[i][j]); }
      }
    }
    if (rest > 0) {
      now ^= 1;
      KEEP_TILES(now);
    }
  }

#if SLICES > 1
  // The teams' sums, always added in the same order; the first team has the total.
  barrier(CLK_LOCAL_MEM_FENCE);
  if (slice > 0) {
    ALL_OF(i, ITEM_M) {
      ALL_OF(j, ITEM_N) {
        memory[((slice - 1) * ITEM_M * ITEM_N + i * ITEM_N + j) * TEAM + member] = sum[i][j];
      }
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (slice > 0) {
    return;
  }
  ALL_OF(other, SLICES - 1) {
    ALL_OF(i, ITEM_M) {
      ALL_OF(j, ITEM_N) {
        sum[i][j] += memory[(other * ITEM_M * ITEM_N + i * ITEM_N + j) * TEAM + member];
      }
    }
  }
#endif
#if SPLIT
  if (parts > 1) {
    // All of this part's sums, dense.
    global float *to = scratch + layer * m * n;
    ALL_OF(i, ITEM_M) {
      const uint row = top + (i / 4 * DOWN + ty) * 4 + i % 4;
      ALL_OF(j, ITEM_N) {
        const uint column = side + (j / 4 * ACROSS + tx) * 4 + j % 4;
        if (row < m && column < n) {
          to[row * n + column] = sum[i][j];
        }
      }
    }
    return;
  }
#endif
  // Without products there is nothing that alpha could turn into NaN.
  const float factor = k == 0 ? 0.0f : alpha;
  const bool c_wide = ((c_offset | c_leading | c_stride) & 3) == 0;
  c += c_offset + batch * c_stride;
  ALL_OF(i, ITEM_M) {
    const uint row = top + (i / 4 * DOWN + ty) * 4 + i % 4;
    if (row < m) {
      ALL_OF(j, ITEM_N / 4) {
        const uint column = side + (j * ACROSS + tx) * 4;
        global element *to = c + row * c_leading + column;
        const uint count = below(column, n);
        float4 value = factor * PACK_4(float, sum[i] + j * 4);
        if (c_wide && count == 4) {
          if (beta != 0.0f) {
            value = mad((float4)(beta), load4(to), value);
          }
          store4(value, to);
        } else {
          if (beta != 0.0f) {
            value = mad((float4)(beta), load_some(to, count), value);
          }
          if (count > 0) store1(value.x, to);
          if (count > 1) store1(value.y, to + 1);
          if (count > 2) store1(value.z, to + 2);
          if (count > 3) store1(value.w, to + 3);
        }
      }
    }
  }
}
