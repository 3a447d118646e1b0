// What families that split k share: C from the sums of all parts, which lie dense in the scratch
// memory, part by part of each matrix. Work-groups of COLUMNS elements of C and ADDERS work-items for
// each, which take every ADDERS-th part in turn: always the same order.
#define ADDERS 8
#define COLUMNS 32

kernel __attribute__((reqd_work_group_size(COLUMNS, ADDERS, 1)))
void reduce(uint m, uint n, uint k, float alpha, float beta,
            global const element *restrict a, ulong a_offset, uint a_leading, ulong a_stride,
            global const element *restrict b, ulong b_offset, uint b_leading, ulong b_stride,
            global element *restrict c, ulong c_offset, uint c_leading, ulong c_stride,
            uint parts, global float *restrict scratch) {
  local float sums[ADDERS][COLUMNS];
  const uint here = get_local_id(0);
  const uint lane = get_local_id(1);
  const ulong position = get_global_id(0);
  const ulong size = (ulong)m * n;
  const ulong batch = get_global_id(2);
  float sum = 0.0f;
  if (position < size) {
    global const float *from = scratch + batch * parts * size + position;
    for (uint part = lane; part < parts; part += ADDERS) {
      sum += from[part * size];
    }
  }
  sums[lane][here] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (lane > 0 || position >= size) {
    return;
  }
  ALL_OF(other, ADDERS - 1) { sum += sums[other + 1][here]; }
  const uint row = (uint)position / n;
  const uint column = (uint)position % n;
  global element *to = c + c_offset + batch * c_stride + row * c_leading + column;
  const float value = alpha * sum;
  store1(beta == 0.0f ? value : mad(beta, load1(to), value), to);
}
