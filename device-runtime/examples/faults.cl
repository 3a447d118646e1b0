// Three kernels, each with a fault on purpose, with which `oclgrind/check.sh` proves that the simulator
// reports such. One work-group of 64 work-items, or two of 32; C has 64 elements.
#define ARGUMENTS                                                                                  \
  uint m, uint n, uint k, float alpha, float beta, global const float *a, ulong a_offset,          \
      uint a_leading, ulong a_stride, global const float *b, ulong b_offset, uint b_leading,       \
      ulong b_stride, global float *c, ulong c_offset, uint c_leading, ulong c_stride

// Work-items read what their neighbours have written to local memory, without a barrier.
kernel void race_in_local_memory(ARGUMENTS) {
  local float shared[64];
  const uint item = get_local_id(0);
  shared[item] = item;
  c[get_global_id(0)] = shared[item ^ 1];
}

// Work-groups write different values to one element of C.
kernel void race_between_groups(ARGUMENTS) {
  if (get_local_id(0) == 0) {
    c[0] = get_group_id(0);
  }
}

// The last work-item reads behind the end of C.
kernel void read_outside(ARGUMENTS) { c[get_global_id(0)] = c[get_global_id(0) + 1]; }
