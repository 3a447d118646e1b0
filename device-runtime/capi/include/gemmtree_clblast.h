/* The single and half precision matrix multiplications of CLBlast's C interface, answered by gemmtree.
 *
 * A program that was written against <clblast_c.h> and multiplies matrices includes this header instead, or keeps
 * its own, and links with -lgemmtree instead of -lclblast. Names, types, values and the order in which arguments
 * are checked are CLBlast's. Link one library or the other: both define these names.
 *
 * Which bundle is used, in this order:
 * 1. the file that the environment variable GEMMTREE_BUNDLE names; without that variable,
 * 2. of the folder that GEMMTREE_BUNDLES names, else of $XDG_DATA_HOME/gemmtree, else of ~/.local/share/gemmtree (on
 *    Android, where there is no home, of GEMMTREE_BUNDLES alone): the device's own bundle, else the bundle (`*.gtb`)
 *    or model (`*.gtm`) of the nearest device of its kind. What had to be built for it from source is kept in the folder
 *    as the device's own bundle, and the one of before beside it as NAME.previous;
 * 3. the universal kernel for single and half precision, built from source: right, but slow.
 * Whatever driver made a bundle, its kernels run or give way as gemmtree_create_from_file of gemmtree.h says. Where
 * it is not the device's and the driver's own, one line on the standard error says what happened, unless GEMMTREE_QUIET
 * is set. Bundles are looked for on the first call with a device and not again, but after CLBlastClearCache. A file
 * that GEMMTREE_BUNDLE names and that cannot be used is an error: calls return CLBlastInvalidBinary, or the code of
 * what failed; gemmtree_last_error() of gemmtree.h has the words. What a bundle has no kernels for is
 * CLBlastNotImplemented.
 *
 * All functions may be called by any number of threads at once. Each thread loads the kernels for itself on its
 * first call with a context and device, and keeps those of the eight used last (a context that they belong to
 * lives as long), until it ends or calls CLBlastClearCache.
 *
 * Where this is not CLBlast: with alpha 0, A and B are not read; strides that let matrices of C overlap are refused
 * (CLBlastInvalidValue), and so are matrices that span more than 2^32 - 1 elements (CLBlastNotImplemented); half
 * precision needs nothing of the device, and is added up in single precision. No function ends the program. */
#ifndef GEMMTREE_CLBLAST_H
#define GEMMTREE_CLBLAST_H

#include <stddef.h>

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#ifdef __APPLE__
#include <OpenCL/opencl.h>
#else
#include <CL/opencl.h>
#endif

/* Both headers in one file would define everything twice; the first one stays. */
#ifndef CLBLAST_CLBLAST_C_H_
#define CLBLAST_CLBLAST_C_H_

#ifdef __cplusplus
extern "C" {
#endif

typedef enum CLBlastStatusCode_ {
    CLBlastSuccess = 0,
    CLBlastOpenCLCompilerNotAvailable = -3,
    CLBlastTempBufferAllocFailure = -4,
    CLBlastOpenCLOutOfResources = -5,
    CLBlastOpenCLOutOfHostMemory = -6,
    CLBlastOpenCLBuildProgramFailure = -11,
    CLBlastInvalidValue = -30,
    CLBlastInvalidCommandQueue = -36,
    CLBlastInvalidMemObject = -38,
    CLBlastInvalidBinary = -42,
    CLBlastInvalidBuildOptions = -43,
    CLBlastInvalidProgram = -44,
    CLBlastInvalidProgramExecutable = -45,
    CLBlastInvalidKernelName = -46,
    CLBlastInvalidKernelDefinition = -47,
    CLBlastInvalidKernel = -48,
    CLBlastInvalidArgIndex = -49,
    CLBlastInvalidArgValue = -50,
    CLBlastInvalidArgSize = -51,
    CLBlastInvalidKernelArgs = -52,
    CLBlastInvalidLocalNumDimensions = -53,
    CLBlastInvalidLocalThreadsTotal = -54,
    CLBlastInvalidLocalThreadsDim = -55,
    CLBlastInvalidGlobalOffset = -56,
    CLBlastInvalidEventWaitList = -57,
    CLBlastInvalidEvent = -58,
    CLBlastInvalidOperation = -59,
    CLBlastInvalidBufferSize = -61,
    CLBlastInvalidGlobalWorkSize = -63,
    CLBlastNotImplemented = -1024,
    CLBlastInvalidMatrixA = -1022,
    CLBlastInvalidMatrixB = -1021,
    CLBlastInvalidMatrixC = -1020,
    CLBlastInvalidVectorX = -1019,
    CLBlastInvalidVectorY = -1018,
    CLBlastInvalidDimension = -1017,
    CLBlastInvalidLeadDimA = -1016,
    CLBlastInvalidLeadDimB = -1015,
    CLBlastInvalidLeadDimC = -1014,
    CLBlastInvalidIncrementX = -1013,
    CLBlastInvalidIncrementY = -1012,
    CLBlastInsufficientMemoryA = -1011,
    CLBlastInsufficientMemoryB = -1010,
    CLBlastInsufficientMemoryC = -1009,
    CLBlastInsufficientMemoryX = -1008,
    CLBlastInsufficientMemoryY = -1007,
    CLBlastInsufficientMemoryTemp = -2050,
    CLBlastInvalidBatchCount = -2049,
    CLBlastInvalidOverrideKernel = -2048,
    CLBlastMissingOverrideParameter = -2047,
    CLBlastInvalidLocalMemUsage = -2046,
    CLBlastNoHalfPrecision = -2045,
    CLBlastNoDoublePrecision = -2044,
    CLBlastInvalidVectorScalar = -2043,
    CLBlastInsufficientMemoryScalar = -2042,
    CLBlastDatabaseError = -2041,
    CLBlastUnknownError = -2040,
    CLBlastUnexpectedError = -2039
} CLBlastStatusCode;

typedef enum CLBlastLayout_ { CLBlastLayoutRowMajor = 101, CLBlastLayoutColMajor = 102 } CLBlastLayout;

/* For real numbers the conjugate is the transpose. */
typedef enum CLBlastTranspose_ {
    CLBlastTransposeNo = 111,
    CLBlastTransposeYes = 112,
    CLBlastTransposeConjugate = 113
} CLBlastTranspose;

/* Values in bits. */
typedef enum CLBlastPrecision_ {
    CLBlastPrecisionHalf = 16,
    CLBlastPrecisionSingle = 32,
    CLBlastPrecisionDouble = 64,
    CLBlastPrecisionComplexSingle = 3232,
    CLBlastPrecisionComplexDouble = 6464
} CLBlastPrecision;

/* C = alpha * op(A) * op(B) + beta * C, enqueued on `*queue`. Offsets and leading dimensions are in elements; m, n
 * and k are at least 1. If `event` is not NULL, `*event` becomes one that is complete when all of the call is; the
 * caller releases it. */
CLBlastStatusCode CLBlastSgemm(const CLBlastLayout layout, const CLBlastTranspose a_transpose,
                               const CLBlastTranspose b_transpose, const size_t m, const size_t n, const size_t k,
                               const float alpha, const cl_mem a_buffer, const size_t a_offset, const size_t a_ld,
                               const cl_mem b_buffer, const size_t b_offset, const size_t b_ld, const float beta,
                               cl_mem c_buffer, const size_t c_offset, const size_t c_ld, cl_command_queue *queue,
                               cl_event *event);

CLBlastStatusCode CLBlastHgemm(const CLBlastLayout layout, const CLBlastTranspose a_transpose,
                               const CLBlastTranspose b_transpose, const size_t m, const size_t n, const size_t k,
                               const cl_half alpha, const cl_mem a_buffer, const size_t a_offset, const size_t a_ld,
                               const cl_mem b_buffer, const size_t b_offset, const size_t b_ld, const cl_half beta,
                               cl_mem c_buffer, const size_t c_offset, const size_t c_ld, cl_command_queue *queue,
                               cl_event *event);

/* `batch_count` products at once, at least 1; matrix number i begins i strides behind the offset. */
CLBlastStatusCode CLBlastSgemmStridedBatched(
    const CLBlastLayout layout, const CLBlastTranspose a_transpose, const CLBlastTranspose b_transpose, const size_t m,
    const size_t n, const size_t k, const float alpha, const cl_mem a_buffer, const size_t a_offset, const size_t a_ld,
    const size_t a_stride, const cl_mem b_buffer, const size_t b_offset, const size_t b_ld, const size_t b_stride,
    const float beta, cl_mem c_buffer, const size_t c_offset, const size_t c_ld, const size_t c_stride,
    const size_t batch_count, cl_command_queue *queue, cl_event *event);

CLBlastStatusCode CLBlastHgemmStridedBatched(
    const CLBlastLayout layout, const CLBlastTranspose a_transpose, const CLBlastTranspose b_transpose, const size_t m,
    const size_t n, const size_t k, const cl_half alpha, const cl_mem a_buffer, const size_t a_offset,
    const size_t a_ld, const size_t a_stride, const cl_mem b_buffer, const size_t b_offset, const size_t b_ld,
    const size_t b_stride, const cl_half beta, cl_mem c_buffer, const size_t c_offset, const size_t c_ld,
    const size_t c_stride, const size_t batch_count, cl_command_queue *queue, cl_event *event);

/* Release the kernels that the calling thread keeps; other threads release theirs as they make their next call.
 * Bundles are looked for anew. */
CLBlastStatusCode CLBlastClearCache(void);

#ifdef __cplusplus
}
#endif

#endif
#endif
