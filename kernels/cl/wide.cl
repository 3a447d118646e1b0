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
