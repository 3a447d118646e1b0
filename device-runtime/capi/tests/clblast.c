/* CLBlast's calls in all layouts and transposes, their codes for wrong arguments, many threads at once, and
 * contexts that come and go. */
#include <gemmtree_clblast.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { M = 13, N = 9, K = 21, OFFSET = 5, SIZE = 1024, THREADS = 4, CALLS = 25, CONTEXTS = 20 };

typedef struct {
    cl_context context;
    cl_command_queue queue;
    cl_mem a, b, c;
} Work;

static cl_device_id device;
static float in_a[SIZE], in_b[SIZE], in_c[SIZE];

static void check(cl_int code, const char *call) {
    if (code != 0) {
        fprintf(stderr, "%s: %d\n", call, code);
        exit(1);
    }
}

static void expect(int got, int wanted, const char *what) {
    if (got != wanted) {
        fprintf(stderr, "%s: %d, not %d\n", what, got, wanted);
        exit(1);
    }
}

static Work open_work(cl_context context) {
    Work work = {context, NULL, NULL, NULL, NULL};
    cl_int code;
    const cl_mem_flags flags = CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR;
    work.queue = clCreateCommandQueue(context, device, 0, &code);
    check(code, "clCreateCommandQueue");
    work.a = clCreateBuffer(context, flags, sizeof in_a, in_a, &code);
    check(code, "clCreateBuffer");
    work.b = clCreateBuffer(context, flags, sizeof in_b, in_b, &code);
    check(code, "clCreateBuffer");
    work.c = clCreateBuffer(context, flags, sizeof in_c, in_c, &code);
    check(code, "clCreateBuffer");
    return work;
}

static void close_work(Work work) {
    clReleaseMemObject(work.a);
    clReleaseMemObject(work.b);
    clReleaseMemObject(work.c);
    clReleaseCommandQueue(work.queue);
}

/* Where element (row, column) lies. */
static size_t at(int row_major, size_t leading, size_t row, size_t column) {
    return OFFSET + (row_major ? row * leading + column : column * leading + row);
}

static void multiply(Work work, int row_major, int transpose_a, int transpose_b, float alpha) {
    static const float beta = 0.5f;
    float result[SIZE];
    const size_t rows_a = transpose_a ? K : M, columns_a = transpose_a ? M : K;
    const size_t rows_b = transpose_b ? N : K, columns_b = transpose_b ? K : N;
    const size_t lead_a = (row_major ? columns_a : rows_a) + 3, lead_b = (row_major ? columns_b : rows_b) + 1;
    const size_t lead_c = (row_major ? N : M) + 2;
    cl_event event = NULL;
    check(clEnqueueWriteBuffer(work.queue, work.c, CL_TRUE, 0, sizeof in_c, in_c, 0, NULL, NULL), "write");
    check(CLBlastSgemm(row_major ? CLBlastLayoutRowMajor : CLBlastLayoutColMajor,
                       transpose_a ? CLBlastTransposeYes : CLBlastTransposeNo,
                       transpose_b ? CLBlastTransposeConjugate : CLBlastTransposeNo, M, N, K, alpha, work.a, OFFSET,
                       lead_a, work.b, OFFSET, lead_b, beta, work.c, OFFSET, lead_c, &work.queue, &event),
          "CLBlastSgemm");
    check(clWaitForEvents(1, &event), "clWaitForEvents");
    clReleaseEvent(event);
    check(clEnqueueReadBuffer(work.queue, work.c, CL_TRUE, 0, sizeof result, result, 0, NULL, NULL), "read");
    for (size_t row = 0; row < M; ++row) {
        for (size_t column = 0; column < N; ++column) {
            double sum = 0.0;
            for (size_t k = 0; k < K; ++k) {
                const float a = in_a[transpose_a ? at(row_major, lead_a, k, row) : at(row_major, lead_a, row, k)];
                const float b = in_b[transpose_b ? at(row_major, lead_b, column, k) : at(row_major, lead_b, k, column)];
                sum += (double)a * b;
            }
            const size_t place = at(row_major, lead_c, row, column);
            const double error = result[place] - (alpha * sum + beta * in_c[place]);
            if (!(error < 1e-4 && error > -1e-4)) {
                fprintf(stderr, "%d%d%d: C[%zu][%zu] is off by %g\n", row_major, transpose_a, transpose_b, row, column,
                        error);
                exit(1);
            }
        }
    }
    expect(result[0] == in_c[0] && result[SIZE - 1] == in_c[SIZE - 1], 1, "what is outside C");
}

static void *many(void *context) {
    Work work = open_work(context);
    for (int call = 0; call < CALLS; ++call)
        multiply(work, call & 1, call & 2, call & 4, (float)call);
    close_work(work);
    return NULL;
}

static void wrong(Work work) {
#define CALL(offset_a, lead_a, lead_b, lead_c, queue)                                                               \
    CLBlastSgemm(CLBlastLayoutRowMajor, CLBlastTransposeNo, CLBlastTransposeNo, M, N, K, 1.0f, work.a, offset_a,    \
                 lead_a, work.b, 0, lead_b, 0.0f, work.c, 0, lead_c, queue, NULL)
    expect(CALL(0, K - 1, N, N, &work.queue), CLBlastInvalidLeadDimA, "leading dimension of A");
    expect(CALL(0, K, N - 1, N, &work.queue), CLBlastInvalidLeadDimB, "leading dimension of B");
    expect(CALL(0, K, N, N - 1, &work.queue), CLBlastInvalidLeadDimC, "leading dimension of C");
    expect(CALL(SIZE, K, N, N, &work.queue), CLBlastInsufficientMemoryA, "offset of A");
    expect(CALL(0, K, N, N, NULL), CLBlastInvalidCommandQueue, "no queue");
    expect(CALL(0, K, N, N, &work.queue), CLBlastSuccess, "all right");
    check(clFinish(work.queue), "clFinish");
}

int main(void) {
    cl_platform_id platform;
    cl_int code;
    check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    for (int i = 0; i < SIZE; ++i) {
        in_a[i] = (float)(i * 7 % 13) / 13.0f - 0.5f;
        in_b[i] = (float)(i * 5 % 11) / 11.0f - 0.5f;
        in_c[i] = (float)(i * 3 % 17) / 17.0f - 0.5f;
    }
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    check(code, "clCreateContext");
    Work work = open_work(context);
    for (int how = 0; how < 8; ++how)
        multiply(work, how & 1, how & 2, how & 4, 1.5f);
    wrong(work);
    close_work(work);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; ++i)
        check(pthread_create(threads + i, NULL, many, context), "pthread_create");
    for (int i = 0; i < THREADS; ++i)
        check(pthread_join(threads[i], NULL), "pthread_join");
    clReleaseContext(context);
    for (int i = 0; i < CONTEXTS; ++i) {
        context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
        check(code, "clCreateContext");
        work = open_work(context);
        multiply(work, 1, 0, 0, (float)i);
        close_work(work);
        clReleaseContext(context);
    }
    check(CLBlastClearCache(), "CLBlastClearCache");
    puts("right");
    return 0;
}
