// What families share: elements in memory as floats, some of them where four would cross an edge.
#if !defined(HALF)
#error "define HALF: 0 or 1"
#endif

// A loop without a branch: arrays that only such loops go over stay in registers.
#define ALL_OF(v, count) _Pragma("unroll") for (uint v = 0; v < (count); ++v)

// Four elements: from and to where they are aligned to four, and one alone.
#if HALF
typedef half element;
#if defined(__NV_CL_C_VERSION)
// NVIDIA's compiler makes four loads of a vector of halves, but one of the same bits.
static inline float4 load4(global const element *from) {
  const ushort4 bits = *(global const ushort4 *)from;
  return vload_half4(0, (const half *)&bits);
}
#else
static inline float4 load4(global const element *from) { return vloada_half4(0, from); }
#endif
static inline void store4(float4 value, global element *to) { vstorea_half4(value, 0, to); }
static inline float load1(global const element *from) { return vload_half(0, from); }
static inline void store1(float value, global element *to) { vstore_half(value, 0, to); }
#else
typedef float element;
static inline float4 load4(global const element *from) { return *(global const float4 *)from; }
static inline void store4(float4 value, global element *to) { *(global float4 *)to = value; }
static inline float load1(global const element *from) { return *from; }
static inline void store1(float value, global element *to) { *to = value; }
#endif

// The first `count` of four elements in a row, and zeros: nothing beyond them is read.
static inline float4 load_some(global const element *from, uint count) {
  float4 some = (float4)(0.0f);
  if (count > 0) some.x = load1(from);
  if (count > 1) some.y = load1(from + 1);
  if (count > 2) some.z = load1(from + 2);
  if (count > 3) some.w = load1(from + 3);
  return some;
}

// How many of the four positions from `first` on are below `end`.
static inline uint below(uint first, uint end) { return first < end ? min(end - first, 4u) : 0; }
