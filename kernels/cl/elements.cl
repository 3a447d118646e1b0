// What families share: elements in memory as floats, some of them where four would cross an edge.
#if !defined(HALF)
#error "define HALF: 0 or 1"
#endif

// A loop without a branch: arrays that only such loops go over stay in registers.
#define ALL_OF(v, count) _Pragma("unroll") for (uint v = 0; v < (count); ++v)

// Four elements: from and to where they are aligned to four, and one alone. What is `fetch`ed stays
// as it lies in memory until it is `widen`ed: while nothing asks for it, other work is done. Halves
// stay two to a register, the first in the low bits: taking them apart would wait for them.
#if HALF
typedef half element;
typedef uint2 four;
static inline four fetch4(global const element *from) { return *(global const uint2 *)from; }
static inline uint fetch1(global const element *from) { return *(global const ushort *)from; }
static inline float4 widen(four bits) { return vload_half4(0, (private const half *)&bits); }
static inline void store4(float4 value, global element *to) { vstorea_half4(value, 0, to); }
static inline float load1(global const element *from) { return vload_half(0, from); }
static inline void store1(float value, global element *to) { vstore_half(value, 0, to); }
#else
typedef float element;
typedef float4 four;
static inline four fetch4(global const element *from) { return *(global const float4 *)from; }
static inline float fetch1(global const element *from) { return *from; }
static inline float4 widen(four value) { return value; }
static inline void store4(float4 value, global element *to) { *(global float4 *)to = value; }
static inline float load1(global const element *from) { return *from; }
static inline void store1(float value, global element *to) { *to = value; }
#endif

// The first `count` of four elements in a row, and zeros: nothing beyond them is read.
static inline four fetch_some(global const element *from, uint count) {
  four some = 0;
#if HALF
  if (count > 0) some.x = fetch1(from);
  if (count > 1) some.x |= fetch1(from + 1) << 16;
  if (count > 2) some.y = fetch1(from + 2);
  if (count > 3) some.y |= fetch1(from + 3) << 16;
#else
  if (count > 0) some.x = fetch1(from);
  if (count > 1) some.y = fetch1(from + 1);
  if (count > 2) some.z = fetch1(from + 2);
  if (count > 3) some.w = fetch1(from + 3);
#endif
  return some;
}

// The same, widened at once.
static inline float4 load4(global const element *from) { return widen(fetch4(from)); }
static inline float4 load_some(global const element *from, uint count) {
  return widen(fetch_some(from, count));
}

// How many of the four positions from `first` on are below `end`.
static inline uint below(uint first, uint end) { return first < end ? min(end - first, 4u) : 0; }
