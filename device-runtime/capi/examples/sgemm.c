/* C = alpha * A * B + beta * C through a bundle, on the caller's own context, queue and buffers.
 *
 *     cc sgemm.c $(pkg-config --cflags --libs gemmtree) -lOpenCL -o sgemm && ./sgemm model.gtb
 */
#include <stdio.h>
#include <stdlib.h>

#include <gemmtree.h>

enum { M = 37, N = 29, K = 53 };

static void check_cl(cl_int code, const char *call) {
    if (code != CL_SUCCESS) {
        fprintf(stderr, "%s failed: %d\n", call, code);
        exit(1);
    }
}

static void check(gemmtree_status status) {
    if (status != GEMMTREE_SUCCESS) {
        fprintf(stderr, "%s: %s (OpenCL: %d)\n", gemmtree_status_text(status), gemmtree_last_error(),
                gemmtree_last_opencl_error());
        exit(1);
    }
}

/* A buffer of `count` numbers, and what it holds. */
static cl_mem matrix(cl_context context, size_t count, float *values, unsigned seed) {
    cl_int code;
    for (size_t i = 0; i < count; ++i) {
        seed = seed * 1664525u + 1013904223u;
        values[i] = (float)(seed >> 16 & 1023) / 512.0f - 1.0f;
    }
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, count * sizeof(float), values,
                                   &code);
    check_cl(code, "clCreateBuffer");
    return buffer;
}

int main(int argc, char **argv) {
    static float a[M * K], b[K * N], c[M * N], result[M * N];
    const float alpha = 1.5f, beta = 0.5f;
    cl_platform_id platform;
    cl_device_id device;
    cl_int code;
    if (argc != 2) {
        fprintf(stderr, "usage: %s BUNDLE\n", argv[0]);
        return 1;
    }
    check_cl(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    check_cl(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    check_cl(code, "clCreateContext");
    cl_command_queue queue = clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &code);
    check_cl(code, "clCreateCommandQueue");
    cl_mem in_a = matrix(context, M * K, a, 1), in_b = matrix(context, K * N, b, 2), in_c = matrix(context, M * N, c, 3);

    gemmtree_handle *handle;
    check(gemmtree_create_from_file(context, device, argv[1], &handle));

    /* Which kernel, and what memory it wants beside the matrices. */
    gemmtree_shape shape = {GEMMTREE_F32, GEMMTREE_ROW_MAJOR, GEMMTREE_NO_TRANSPOSE, GEMMTREE_NO_TRANSPOSE, M, N, K, 1};
    char why[4096];
    size_t scratch;
    check(gemmtree_explain(handle, &shape, why, sizeof why, NULL));
    printf("gemmtree %s\n%s", gemmtree_version(), why);
    check(gemmtree_scratch_size(handle, &shape, &scratch));
    check(gemmtree_reserve(handle, queue, scratch));

    cl_event event;
    check(gemmtree_set_timing(handle, 1));
    check(gemmtree_sgemm(handle, GEMMTREE_ROW_MAJOR, GEMMTREE_NO_TRANSPOSE, GEMMTREE_NO_TRANSPOSE, M, N, K, alpha,
                         in_a, 0, K, in_b, 0, N, beta, in_c, 0, N, queue, 0, NULL, &event));
    check_cl(clEnqueueReadBuffer(queue, in_c, CL_TRUE, 0, sizeof result, result, 1, &event, NULL),
             "clEnqueueReadBuffer");
    clReleaseEvent(event);
    gemmtree_times times;
    check(gemmtree_last_times(handle, &times));
    printf("on the device: %llu ns\n", (unsigned long long)times.device_ns);

    for (size_t row = 0; row < M; ++row) {
        for (size_t column = 0; column < N; ++column) {
            double sum = 0.0;
            for (size_t k = 0; k < K; ++k)
                sum += (double)a[row * K + k] * b[k * N + column];
            const double expected = alpha * sum + beta * c[row * N + column];
            const double error = result[row * N + column] - expected;
            if (!(error < 1e-4 && error > -1e-4)) {
                fprintf(stderr, "C[%zu][%zu] is %g, not %g\n", row, column, result[row * N + column], expected);
                return 1;
            }
        }
    }
    puts("right");

    gemmtree_destroy(handle);
    clReleaseMemObject(in_a);
    clReleaseMemObject(in_b);
    clReleaseMemObject(in_c);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    return 0;
}
