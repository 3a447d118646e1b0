/* gemmtree: C = alpha * op(A) * op(B) + beta * C on OpenCL, with the kernel that was measured to suit the shape.
 *
 * A handle holds the kernels of one bundle (`*.gtb`, made on the device by `gemmtree-board compile`) on one
 * device of the caller's context. A call chooses the kernel, sets its arguments and enqueues it on the caller's
 * queue; it returns before the device is done, builds nothing, and where it repeats one of the last few dozen
 * problems allocates nothing.
 *
 *     gemmtree_handle *handle;
 *     if (gemmtree_create_from_file(context, device, "model.gtb", &handle) != GEMMTREE_SUCCESS)
 *         fprintf(stderr, "%s\n", gemmtree_last_error());
 *     gemmtree_sgemm(handle, GEMMTREE_ROW_MAJOR, GEMMTREE_NO_TRANSPOSE, GEMMTREE_NO_TRANSPOSE, m, n, k,
 *                    1.0f, a, 0, k, b, 0, n, 0.0f, c, 0, n, queue, 0, NULL, &event);
 *     clWaitForEvents(1, &event);
 *     clReleaseEvent(event);
 *     gemmtree_destroy(handle);
 *
 * Threads: a handle belongs to one thread at a time. A call on a handle that another thread is using returns
 * GEMMTREE_BUSY and does nothing; threads that multiply at the same time create a handle each. Different handles
 * have nothing in common, and every function that takes no handle may be called by any thread at any time.
 *
 * Errors: every function returns a status or documents what else it returns. A wrong value, a null pointer, a
 * size that does not fit and a failure of the driver are statuses. What cannot be checked is whether a pointer
 * that is not null points to what it should: OpenCL objects must be live ones.
 */
#ifndef GEMMTREE_H
#define GEMMTREE_H

#include <stddef.h>
#include <stdint.h>

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#ifdef __APPLE__
#include <OpenCL/cl.h>
#else
#include <CL/cl.h>
#endif

#define GEMMTREE_VERSION_MAJOR 0
#define GEMMTREE_VERSION_MINOR 1
#define GEMMTREE_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

/* What a function ended with. Codes keep their meaning; later versions may add some. */
typedef enum gemmtree_status {
    GEMMTREE_SUCCESS = 0,
    /* A null pointer, or a value that is none of its type's. */
    GEMMTREE_INVALID_ARGUMENT = 1,
    /* A leading dimension is below the length of what it leads: rows of a row-major matrix as it is stored,
     * columns of a column-major one. */
    GEMMTREE_LEADING_TOO_SMALL = 2,
    /* A buffer ends before its matrices do. */
    GEMMTREE_BUFFER_TOO_SMALL = 3,
    /* The stride of C lets its matrices overlap, so that products would be written over one another. */
    GEMMTREE_OUTPUTS_OVERLAP = 4,
    /* A size, an offset or a stride beyond what kernels count: one matrix spans at most 2^32 - 1 elements. */
    GEMMTREE_TOO_LARGE = 5,
    /* A buffer begins where kernels cannot load vectors: a sub-buffer's origin, or a host pointer, that is no
     * multiple of 16 bytes. Begin the buffer earlier and use the offset. */
    GEMMTREE_MISALIGNED = 6,
    /* A queue, device or buffer of another context than the handle's. */
    GEMMTREE_FOREIGN_OBJECT = 7,
    /* A file could not be read or written. */
    GEMMTREE_FILE = 8,
    /* What was read is no bundle, or a damaged one; no driver has seen a byte of it. */
    GEMMTREE_BAD_BUNDLE = 9,
    /* The bundle was made by another driver, for another device or from other kernel sources, and is wanted as it is:
     * only the strict functions say so. */
    GEMMTREE_STALE_BUNDLE = 10,
    /* The bundle has no kernels for this precision and these transposes. */
    GEMMTREE_CLASS_NOT_SHIPPED = 11,
    /* The scratch memory and a matrix have memory in common. */
    GEMMTREE_SCRATCH_IS_MATRIX = 12,
    /* Another thread is using the handle. */
    GEMMTREE_BUSY = 13,
    /* The device's clock gives no time: no call was made with timing on, or the queue records none. */
    GEMMTREE_NO_TIME = 14,
    /* An OpenCL call failed: gemmtree_last_opencl_error() has its code. */
    GEMMTREE_OPENCL = 15,
    /* The OpenCL library was not found. */
    GEMMTREE_NO_LIBRARY = 16,
    /* A fault of this library, which ended the call and nothing else. The handle refuses further calls; please
     * report what gemmtree_last_error() says. */
    GEMMTREE_PANICKED = 17,
    /* No kernel can be used on the device, not even the universal one: gemmtree_last_error() lists what was tried. */
    GEMMTREE_NO_KERNEL = 18
} gemmtree_status;

/* The order of a matrix in memory. */
typedef enum gemmtree_layout {
    /* Rows follow one another; the leading dimension is the distance between their beginnings. */
    GEMMTREE_ROW_MAJOR = 101,
    /* Columns follow one another, as in Fortran. */
    GEMMTREE_COLUMN_MAJOR = 102
} gemmtree_layout;

/* Whether a matrix is multiplied as it is stored. The values are those of CBLAS. */
typedef enum gemmtree_transpose {
    GEMMTREE_NO_TRANSPOSE = 111,
    GEMMTREE_TRANSPOSE = 112
} gemmtree_transpose;

/* How numbers are stored and added up. */
typedef enum gemmtree_precision {
    /* 32 bits throughout. */
    GEMMTREE_F32 = 0,
    /* Stored in 16 bits, added up in 32. */
    GEMMTREE_F16 = 1,
    /* Stored in 16 bits; runs of at most eight products may be added up in 16 where the device can. */
    GEMMTREE_F16H = 2
} gemmtree_precision;

/* What the kernels of a handle stand on; a later one is a lower rung. */
typedef enum gemmtree_rung {
    /* Binaries of this driver. */
    GEMMTREE_RUNG_BINARY = 0,
    /* Binaries of another driver of the device. Within one process none are tried, since a driver may crash over
     * them; `gemmtree-board run` and `gemmtree-board bench` do, in a process of their own. */
    GEMMTREE_RUNG_FOREIGN_BINARY = 1,
    /* Some kernels were built from source. */
    GEMMTREE_RUNG_SOURCE = 2,
    /* Of all kernels the universal one alone, which is right, but slow. */
    GEMMTREE_RUNG_UNIVERSAL = 3
} gemmtree_rung;

typedef char gemmtree_enums_have_32_bits[sizeof(gemmtree_status) == 4 && sizeof(gemmtree_layout) == 4 &&
                                         sizeof(gemmtree_transpose) == 4 && sizeof(gemmtree_precision) == 4 &&
                                                 sizeof(gemmtree_rung) == 4
                                             ? 1
                                             : -1];

/* The kernels of a bundle on one device. */
typedef struct gemmtree_handle gemmtree_handle;

/* A multiplication to ask about: `batch` products of m x k by k x n. */
typedef struct gemmtree_shape {
    gemmtree_precision precision;
    gemmtree_layout layout;
    gemmtree_transpose transpose_a;
    gemmtree_transpose transpose_b;
    size_t m;
    size_t n;
    size_t k;
    size_t batch;
} gemmtree_shape;

/* What a call took, in nanoseconds. */
typedef struct gemmtree_times {
    /* Host: check the arguments and walk the tree. */
    uint64_t select_ns;
    /* Host: set the kernel's arguments. */
    uint64_t arguments_ns;
    /* Host: enqueue. */
    uint64_t enqueue_ns;
    /* Device: from the beginning of the first launch to the end of the last; 0 if nothing was launched. */
    uint64_t device_ns;
} gemmtree_times;

/* --- A handle ------------------------------------------------------------------------------------------------- */

/* Load the bundle in the file `path` on `device`, a device of `context`; the context may have others too. The
 * handle retains the context until it is destroyed. On success `*handle` is the new handle, else NULL.
 *
 * Every kernel is run once, and its result compared with a reference, before the function returns. What this driver
 * did not make, or computes wrongly, is built from source; what cannot be built is left out, and gives way to the
 * next kernel that the model names, in the end to the universal one. So a bundle survives a change of the driver;
 * gemmtree_standing says what became of it, and gemmtree_save keeps what was built. Building takes seconds to minutes.
 * The file may also be a model (`*.gtm`), of which everything is built. */
gemmtree_status gemmtree_create_from_file(cl_context context, cl_device_id device, const char *path,
                                          gemmtree_handle **handle);

/* The same with a bundle or model of `length` bytes in memory, which may be freed afterwards. */
gemmtree_status gemmtree_create_from_memory(cl_context context, cl_device_id device, const void *bundle,
                                            size_t length, gemmtree_handle **handle);

/* The same with a bundle as it is, or not at all: nothing is built and nothing run, which takes the least time.
 * GEMMTREE_STALE_BUNDLE if this driver did not make it. */
gemmtree_status gemmtree_create_strict_from_file(cl_context context, cl_device_id device, const char *path,
                                                 gemmtree_handle **handle);

gemmtree_status gemmtree_create_strict_from_memory(cl_context context, cl_device_id device, const void *bundle,
                                                   size_t length, gemmtree_handle **handle);

/* What the kernels of the handle stand on, to `*rung`: the lowest rung that any stands on. What a user should know of
 * it (who made the binaries, what was built, what was left out and why, that the model was trained on another device
 * or driver), a line each, goes to `text`, as under "Questions"; it is empty if there is nothing. NULL for `rung`
 * or `text` leaves that out. */
gemmtree_status gemmtree_standing(gemmtree_handle *handle, gemmtree_rung *rung, char *text, size_t capacity,
                                  size_t *length);

/* Write what the handle was loaded with as a bundle of this driver, so that nothing needs to be built the next time.
 * The file is replaced as a whole or not at all. */
gemmtree_status gemmtree_save(gemmtree_handle *handle, const char *path);

/* Release the handle and its kernels; NULL is allowed. Calls that were enqueued run to their end. No other thread
 * may be using the handle. */
void gemmtree_destroy(gemmtree_handle *handle);

/* --- Calls ---------------------------------------------------------------------------------------------------- */

/* C = alpha * op(A) * op(B) + beta * C, where op(A) is m x k, op(B) is k x n and C is m x n.
 *
 * Offsets and leading dimensions are in elements. With beta 0, C is not read; with alpha 0, neither are A and B.
 * What lies between the rows (or columns) of C is never written. m, n and k may be 0. C may not share elements
 * with A or B.
 *
 * `queue` is one of the handle's context and device; it may be out of order. The call begins after the
 * `wait_count` events of `wait_list` (with 0, after nothing else than the queue's order asks for). If `event`
 * is not NULL, `*event` becomes an event that is complete when all of the call is, and before that all that the call
 * waits for, also where nothing is to do; the caller releases it. On failure it is left as it was. The buffers may be
 * released as soon as the function returns; the call keeps them. */
gemmtree_status gemmtree_sgemm(gemmtree_handle *handle, gemmtree_layout layout, gemmtree_transpose transpose_a,
                               gemmtree_transpose transpose_b, size_t m, size_t n, size_t k, float alpha, cl_mem a,
                               size_t a_offset, size_t a_leading, cl_mem b, size_t b_offset, size_t b_leading,
                               float beta, cl_mem c, size_t c_offset, size_t c_leading, cl_command_queue queue,
                               cl_uint wait_count, const cl_event *wait_list, cl_event *event);

/* The same for matrices of 16-bit floating-point numbers (cl_half), added up in 32 bits unless
 * gemmtree_set_half_sums says otherwise. alpha and beta have 32 bits. */
gemmtree_status gemmtree_hgemm(gemmtree_handle *handle, gemmtree_layout layout, gemmtree_transpose transpose_a,
                               gemmtree_transpose transpose_b, size_t m, size_t n, size_t k, float alpha, cl_mem a,
                               size_t a_offset, size_t a_leading, cl_mem b, size_t b_offset, size_t b_leading,
                               float beta, cl_mem c, size_t c_offset, size_t c_leading, cl_command_queue queue,
                               cl_uint wait_count, const cl_event *wait_list, cl_event *event);

/* `batch` products at once: matrix number i begins i strides behind the offset. Strides are in elements. A stride
 * of 0 multiplies the same A, or B, each time; the matrices of C may not overlap. batch may be 0. */
gemmtree_status gemmtree_sgemm_strided_batched(
    gemmtree_handle *handle, gemmtree_layout layout, gemmtree_transpose transpose_a, gemmtree_transpose transpose_b,
    size_t m, size_t n, size_t k, float alpha, cl_mem a, size_t a_offset, size_t a_leading, size_t a_stride, cl_mem b,
    size_t b_offset, size_t b_leading, size_t b_stride, float beta, cl_mem c, size_t c_offset, size_t c_leading,
    size_t c_stride, size_t batch, cl_command_queue queue, cl_uint wait_count, const cl_event *wait_list,
    cl_event *event);

/* The same for matrices of 16-bit floating-point numbers. */
gemmtree_status gemmtree_hgemm_strided_batched(
    gemmtree_handle *handle, gemmtree_layout layout, gemmtree_transpose transpose_a, gemmtree_transpose transpose_b,
    size_t m, size_t n, size_t k, float alpha, cl_mem a, size_t a_offset, size_t a_leading, size_t a_stride, cl_mem b,
    size_t b_offset, size_t b_leading, size_t b_stride, float beta, cl_mem c, size_t c_offset, size_t c_leading,
    size_t c_stride, size_t batch, cl_command_queue queue, cl_uint wait_count, const cl_event *wait_list,
    cl_event *event);

/* Whether the 16-bit calls to come add up in 16 bits (GEMMTREE_F16H) or in 32 (GEMMTREE_F16, as at first). */
gemmtree_status gemmtree_set_half_sums(gemmtree_handle *handle, gemmtree_precision precision);

/* --- Scratch memory ------------------------------------------------------------------------------------------- */

/* A call never allocates. Where the kernel of choice wants more scratch memory than there is, the next of the list
 * that is content runs instead: the result is as right, but may come later. */

/* `*bytes`: what the kernel of choice for `shape` wants, often 0. */
gemmtree_status gemmtree_scratch_size(gemmtree_handle *handle, const gemmtree_shape *shape, size_t *bytes);

/* Have at least this much scratch memory for the calls to come, of the handle's own. Growing waits for the
 * calls on `queue`. The memory serves one call after the other, also on a queue that is out of order; a call on
 * another queue than the one before waits for those there that use it. */
gemmtree_status gemmtree_reserve(gemmtree_handle *handle, cl_command_queue queue, size_t bytes);

/* Use the caller's own scratch memory for the calls to come, in place of the handle's; NULL ends that. The memory
 * is a call's until the call is done, and is retained until it is replaced or the handle is destroyed. */
gemmtree_status gemmtree_set_scratch(gemmtree_handle *handle, cl_mem scratch);

/* --- Questions ------------------------------------------------------------------------------------------------ */

/* Text goes to `text`, which has room for `capacity` bytes: as much of it as fits, always ended by a zero byte, and
 * none if `capacity` is 0. `*length`, unless `length` is NULL, becomes the length of the whole text without that
 * byte, so that a caller can come back with more room. */

/* Which kernel a call with `shape` would launch: its number in the bundle to `*id` (0 is the universal kernel) and
 * its name to `text`. NULL for `id` or `text` leaves that out. */
gemmtree_status gemmtree_select(gemmtree_handle *handle, const gemmtree_shape *shape, uint32_t *id, char *text,
                                size_t capacity, size_t *length);

/* Why: the kernels of the leaf with what is expected of them, and the questions on the way to it, a line each. */
gemmtree_status gemmtree_explain(gemmtree_handle *handle, const gemmtree_shape *shape, char *text, size_t capacity,
                                 size_t *length);

/* Whether the calls to come are timed, 1 or 0 (as at first). Timing costs host time, and the device's part needs
 * queues made with CL_QUEUE_PROFILING_ENABLE. */
gemmtree_status gemmtree_set_timing(gemmtree_handle *handle, int wanted);

/* What the last call took that was made with timing on; waits until it is done. */
gemmtree_status gemmtree_last_times(gemmtree_handle *handle, gemmtree_times *times);

/* --- Errors and versions -------------------------------------------------------------------------------------- */

/* What went wrong in the calling thread's last call that failed, in words; "" if none has. The text stays until the
 * thread's next call that fails. It is never NULL. */
const char *gemmtree_last_error(void);

/* The code that OpenCL gave in that call, for example CL_OUT_OF_RESOURCES (-5); CL_SUCCESS if OpenCL was not at
 * fault. */
cl_int gemmtree_last_opencl_error(void);

/* A status in a few words, such as "buffer too small"; never NULL. */
const char *gemmtree_status_text(gemmtree_status status);

/* The version of the library that is linked, such as "0.1.0". */
const char *gemmtree_version(void);

#ifdef __cplusplus
}
#endif

#endif
