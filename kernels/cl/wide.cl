// What families share that work on vectors of 1 to 16 floats in a row.
#define PASTE(name, width) name##width
#define WIDE(name, width) PASTE(name, width)

// LOAD_<width> and STORE_<width>: floats from and to elements in memory, aligned to one element.
#define LOAD_1(from) load1(from)
#define STORE_1(value, to) store1(value, to)
#if HALF
#define LOAD_2(from) vload_half2(0, from)
#define LOAD_4(from) vload_half4(0, from)
#define LOAD_8(from) vload_half8(0, from)
#define LOAD_16(from) vload_half16(0, from)
#define STORE_2(value, to) vstore_half2(value, 0, to)
#define STORE_4(value, to) vstore_half4(value, 0, to)
#define STORE_8(value, to) vstore_half8(value, 0, to)
#define STORE_16(value, to) vstore_half16(value, 0, to)
#else
#define LOAD_2(from) vload2(0, from)
#define LOAD_4(from) vload4(0, from)
#define LOAD_8(from) vload8(0, from)
#define LOAD_16(from) vload16(0, from)
#define STORE_2(value, to) vstore2(value, 0, to)
#define STORE_4(value, to) vstore4(value, 0, to)
#define STORE_8(value, to) vstore8(value, 0, to)
#define STORE_16(value, to) vstore16(value, 0, to)
#endif

// PACK_<width> and SPREAD_<width>: a vector of `type` from and to a private array, element by
// element: an array whose address is taken does not stay in registers everywhere.
#define PACK_1(type, from) (from)[0]
#define PACK_2(type, from)                                                                         \
  (type##2)((from)[0], (from)[1])
#define PACK_4(type, from)                                                                         \
  (type##4)((from)[0], (from)[1], (from)[2], (from)[3])
#define PACK_8(type, from)                                                                         \
  (type##8)((from)[0], (from)[1], (from)[2], (from)[3], (from)[4], (from)[5], (from)[6], (from)[7])
#define PACK_16(type, from)                                                                        \
  (type##16)((from)[0], (from)[1], (from)[2], (from)[3], (from)[4], (from)[5], (from)[6], (from)[7], \
           (from)[8], (from)[9], (from)[10], (from)[11], (from)[12], (from)[13], (from)[14], (from)[15])
#define SPREAD_1(type, value, to) (to)[0] = (value)
#define SPREAD_2(type, value, to)                                                                  \
  {                                                                                                \
    const type##2 taken = value;                                                                   \
    (to)[0] = taken.s0; (to)[1] = taken.s1;                                                        \
  }
#define SPREAD_4(type, value, to)                                                                  \
  {                                                                                                \
    const type##4 taken = value;                                                                   \
    (to)[0] = taken.s0; (to)[1] = taken.s1; (to)[2] = taken.s2; (to)[3] = taken.s3;                \
  }
#define SPREAD_8(type, value, to)                                                                  \
  {                                                                                                \
    const type##8 taken = value;                                                                   \
    (to)[0] = taken.s0; (to)[1] = taken.s1; (to)[2] = taken.s2; (to)[3] = taken.s3;                \
    (to)[4] = taken.s4; (to)[5] = taken.s5; (to)[6] = taken.s6; (to)[7] = taken.s7;                \
  }
