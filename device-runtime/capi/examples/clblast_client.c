/* A program written against CLBlast's C header, and nothing else: it calls single precision matrix multiplication and
 * knows of no other library. Which header answers to the name and which library is linked is the build's choice:
 *
 *     cc clblast_client.c -lclblast -lOpenCL                                    CLBlast
 *     cc clblast_client.c $(pkg-config --cflags --libs gemmtree) -lOpenCL       the same file, CLBlast's own header
 *     cc -DCLBLAST_HEADER='<gemmtree_clblast.h>' clblast_client.c ...           where CLBlast is not installed
 */
/* clCreateCommandQueue is that of OpenCL 1.2. */
#define CL_TARGET_OPENCL_VERSION 120

#include <stdio.h>
#include <stdlib.h>

#ifndef CLBLAST_HEADER
#define CLBLAST_HEADER <clblast_c.h>
#endif
#include CLBLAST_HEADER

enum { M = 33, N = 17, K = 41, BATCH = 3 };

static void check(cl_int code, const char *call) {
    if (code != CL_SUCCESS) {
        fprintf(stderr, "%s failed: %d\n", call, code);
        exit(1);
    }
}

static void compare(const char *what, const float *result, const float *a, const float *b, float alpha) {
    for (size_t row = 0; row < M; ++row) {
        for (size_t column = 0; column < N; ++column) {
            double sum = 0.0;
            for (size_t k = 0; k < K; ++k)
                sum += (double)a[row * K + k] * b[column * K + k];
            const double error = result[row * N + column] - alpha * sum;
            if (!(error < 1e-4 && error > -1e-4)) {
                fprintf(stderr, "%s: C[%zu][%zu] is %g, not %g\n", what, row, column, result[row * N + column],
                        alpha * sum);
                exit(1);
            }
        }
    }
}

int main(void) {
    static float a[BATCH * M * K], b[BATCH * N * K], c[BATCH * M * N];
    cl_platform_id platform;
    cl_device_id device;
    cl_int code;
    cl_event event = NULL;
    check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    check(code, "clCreateContext");
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
    check(code, "clCreateCommandQueue");
    for (size_t i = 0; i < sizeof a / sizeof *a; ++i)
        a[i] = (float)(i * 7 % 13) / 13.0f - 0.5f;
    for (size_t i = 0; i < sizeof b / sizeof *b; ++i)
        b[i] = (float)(i * 5 % 11) / 11.0f - 0.5f;
    const cl_mem_flags flags = CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR;
    cl_mem in_a = clCreateBuffer(context, flags, sizeof a, a, &code);
    check(code, "clCreateBuffer");
    cl_mem in_b = clCreateBuffer(context, flags, sizeof b, b, &code);
    check(code, "clCreateBuffer");
    cl_mem in_c = clCreateBuffer(context, flags, sizeof c, c, &code);
    check(code, "clCreateBuffer");

    CLBlastStatusCode status =
        CLBlastSgemm(CLBlastLayoutRowMajor, CLBlastTransposeNo, CLBlastTransposeYes, M, N, K, 2.0f, in_a, 0, K, in_b,
                     0, K, 0.0f, in_c, 0, N, &queue, &event);
    check(status, "CLBlastSgemm");
    check(clWaitForEvents(1, &event), "clWaitForEvents");
    clReleaseEvent(event);
    check(clEnqueueReadBuffer(queue, in_c, CL_TRUE, 0, sizeof c, c, 0, NULL, NULL), "clEnqueueReadBuffer");
    compare("one", c, a, b, 2.0f);

    status = CLBlastSgemmStridedBatched(CLBlastLayoutRowMajor, CLBlastTransposeNo, CLBlastTransposeConjugate, M, N, K,
                                        0.5f, in_a, 0, K, M * K, in_b, 0, K, N * K, 0.0f, in_c, 0, N, M * N, BATCH,
                                        &queue, NULL);
    check(status, "CLBlastSgemmStridedBatched");
    check(clEnqueueReadBuffer(queue, in_c, CL_TRUE, 0, sizeof c, c, 0, NULL, NULL), "clEnqueueReadBuffer");
    for (size_t batch = 0; batch < BATCH; ++batch)
        compare("batch", c + batch * M * N, a + batch * M * K, b + batch * N * K, 0.5f);

    /* What is wrong is said by the same codes. */
    status = CLBlastSgemm(CLBlastLayoutRowMajor, CLBlastTransposeNo, CLBlastTransposeYes, M, N, K, 2.0f, in_a, 0,
                          K - 1, in_b, 0, K, 0.0f, in_c, 0, N, &queue, NULL);
    if (status != CLBlastInvalidLeadDimA) {
        fprintf(stderr, "a leading dimension below k gives %d\n", status);
        return 1;
    }
    check(CLBlastClearCache(), "CLBlastClearCache");
    puts("right");

    clReleaseMemObject(in_a);
    clReleaseMemObject(in_b);
    clReleaseMemObject(in_c);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    return 0;
}
