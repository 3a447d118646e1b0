/* Every function of gemmtree.h with right and with wrong arguments. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gemmtree.h>

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "line %d: %s; %s\n", __LINE__, #condition, gemmtree_last_error());               \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

enum { N = 8 };

static cl_context context;
static cl_device_id device;
static cl_command_queue queue;
static gemmtree_handle *handle;
static cl_mem a, b, c;

static gemmtree_status sgemm(gemmtree_handle *with, int layout, int transpose, size_t m, size_t n, size_t k,
                             size_t leading, size_t offset, cl_mem to, cl_command_queue on, cl_event *event) {
    return gemmtree_sgemm(with, (gemmtree_layout)layout, (gemmtree_transpose)transpose, GEMMTREE_NO_TRANSPOSE, m, n, k,
                          1.0f, a, offset, leading, b, 0, N, 0.0f, to, 0, N, on, 0, NULL, event);
}

static void gemm_arguments(void) {
    cl_event untouched = (cl_event)&handle, event = untouched;
    CHECK(sgemm(NULL, 101, 111, N, N, N, N, 0, c, queue, NULL) == GEMMTREE_INVALID_ARGUMENT);
    CHECK(strstr(gemmtree_last_error(), "handle") != NULL);
    CHECK(sgemm(handle, 0, 111, N, N, N, N, 0, c, queue, NULL) == GEMMTREE_INVALID_ARGUMENT);
    CHECK(sgemm(handle, 101, 113, N, N, N, N, 0, c, queue, NULL) == GEMMTREE_INVALID_ARGUMENT);
    CHECK(sgemm(handle, 101, 111, N, N, N, N, 0, NULL, queue, &event) == GEMMTREE_INVALID_ARGUMENT);
    CHECK(sgemm(handle, 101, 111, N, N, N, N, 0, c, NULL, &event) == GEMMTREE_INVALID_ARGUMENT);
    CHECK(sgemm(handle, 101, 111, N, N, N, N - 1, 0, c, queue, &event) == GEMMTREE_LEADING_TOO_SMALL);
    CHECK(sgemm(handle, 101, 111, N, N, N, N, 1, c, queue, &event) == GEMMTREE_BUFFER_TOO_SMALL);
    CHECK(sgemm(handle, 101, 111, N, N, N, N, (size_t)-1, c, queue, &event) == GEMMTREE_TOO_LARGE);
    CHECK(sgemm(handle, 101, 111, (size_t)-1, N, N, N, 0, c, queue, &event) == GEMMTREE_TOO_LARGE);
    CHECK(sgemm(handle, 102, 111, N, (size_t)-8, N, N, 0, c, queue, &event) == GEMMTREE_TOO_LARGE);
    CHECK(gemmtree_sgemm(handle, GEMMTREE_ROW_MAJOR, GEMMTREE_NO_TRANSPOSE, GEMMTREE_NO_TRANSPOSE, N, N, N, 1.0f, a, 0,
                         N, b, 0, N, 0.0f, c, 0, N, queue, 1, NULL, &event) == GEMMTREE_INVALID_ARGUMENT);
    CHECK(gemmtree_sgemm_strided_batched(handle, GEMMTREE_ROW_MAJOR, GEMMTREE_NO_TRANSPOSE, GEMMTREE_NO_TRANSPOSE, 1, 2,
                                         1, 1.0f, a, 0, 1, 0, b, 0, 2, 0, 1.0f, c, 0, 2, 1, 3, queue, 0, NULL,
                                         &event) == GEMMTREE_OUTPUTS_OVERLAP);
    CHECK(event == untouched && gemmtree_last_opencl_error() == CL_SUCCESS);
    /* Nothing to do is done, and its event comes too; buffers that are not read may be NULL. */
    cl_mem there = a;
    a = NULL;
    CHECK(sgemm(handle, 101, 111, 0, N, N, N, 0, NULL, queue, &event) == GEMMTREE_SUCCESS);
    CHECK(clWaitForEvents(1, &event) == CL_SUCCESS && clReleaseEvent(event) == CL_SUCCESS);
    CHECK(sgemm(handle, 101, 111, N, N, 0, N, 0, c, queue, NULL) == GEMMTREE_SUCCESS);
    a = there;
    float zeros[N * N], none[N * N] = {0};
    CHECK(clEnqueueReadBuffer(queue, c, CL_TRUE, 0, sizeof zeros, zeros, 0, NULL, NULL) == CL_SUCCESS);
    CHECK(memcmp(zeros, none, sizeof none) == 0);
}

static void foreign_objects(void) {
    cl_int code;
    cl_context elsewhere = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    cl_command_queue other = clCreateCommandQueue(elsewhere, device, 0, &code);
    cl_mem theirs = clCreateBuffer(elsewhere, CL_MEM_READ_WRITE, N * N * 4, NULL, &code);
    CHECK(sgemm(handle, 101, 111, N, N, N, N, 0, c, other, NULL) == GEMMTREE_FOREIGN_OBJECT);
    CHECK(sgemm(handle, 101, 111, N, N, N, N, 0, theirs, queue, NULL) == GEMMTREE_FOREIGN_OBJECT);
    CHECK(gemmtree_set_scratch(handle, theirs) == GEMMTREE_FOREIGN_OBJECT);
    CHECK(sgemm(handle, 101, 111, N, N, N, N, 0, c, queue, NULL) == GEMMTREE_SUCCESS);
    clReleaseMemObject(theirs);
    clReleaseCommandQueue(other);
    clReleaseContext(elsewhere);
}

static void questions(void) {
    gemmtree_shape shape = {GEMMTREE_F16, GEMMTREE_COLUMN_MAJOR, GEMMTREE_TRANSPOSE, GEMMTREE_NO_TRANSPOSE, N, N, N, 2};
    char text[512];
    uint32_t id = 99;
    size_t length = 0, bytes = 99;
    CHECK(gemmtree_select(handle, &shape, &id, text, sizeof text, &length) == GEMMTREE_SUCCESS);
    CHECK(id == 1 && length == strlen(text) && strcmp(text, "tile:4x4x8@8x8") == 0);
    CHECK(gemmtree_select(handle, &shape, NULL, text, 5, &length) == GEMMTREE_SUCCESS);
    CHECK(strcmp(text, "tile") == 0 && length == 14);
    CHECK(gemmtree_select(handle, &shape, NULL, NULL, 0, NULL) == GEMMTREE_SUCCESS);
    CHECK(gemmtree_explain(handle, &shape, text, sizeof text, &length) == GEMMTREE_SUCCESS);
    CHECK(strstr(text, "f16-nt") != NULL && strstr(text, "runs") != NULL);
    CHECK(gemmtree_explain(handle, NULL, text, sizeof text, &length) == GEMMTREE_INVALID_ARGUMENT);
    shape.m = (size_t)-1;
    CHECK(gemmtree_select(handle, &shape, &id, text, sizeof text, NULL) == GEMMTREE_TOO_LARGE);
    shape.m = 0;
    CHECK(gemmtree_select(handle, &shape, &id, text, sizeof text, NULL) == GEMMTREE_SUCCESS && id == 0);
    shape.precision = (gemmtree_precision)7;
    CHECK(gemmtree_scratch_size(handle, &shape, &bytes) == GEMMTREE_INVALID_ARGUMENT && bytes == 99);
    shape.precision = GEMMTREE_F16H;
    shape.m = N;
    CHECK(gemmtree_select(handle, &shape, &id, text, sizeof text, NULL) == GEMMTREE_CLASS_NOT_SHIPPED);
    shape.precision = GEMMTREE_F32;
    CHECK(gemmtree_scratch_size(handle, &shape, &bytes) == GEMMTREE_SUCCESS && bytes == 0);
    CHECK(gemmtree_scratch_size(handle, &shape, NULL) == GEMMTREE_INVALID_ARGUMENT);
}

static void memory_and_times(void) {
    gemmtree_times times = {1, 1, 1, 1};
    cl_event event;
    CHECK(gemmtree_reserve(handle, NULL, 1) == GEMMTREE_INVALID_ARGUMENT);
    CHECK(gemmtree_reserve(handle, queue, (size_t)-1) == GEMMTREE_TOO_LARGE);
    CHECK(gemmtree_reserve(handle, queue, 4096) == GEMMTREE_SUCCESS);
    CHECK(gemmtree_set_scratch(handle, c) == GEMMTREE_SUCCESS);
    CHECK(gemmtree_set_scratch(handle, NULL) == GEMMTREE_SUCCESS);
    CHECK(gemmtree_last_times(handle, &times) == GEMMTREE_NO_TIME);
    CHECK(gemmtree_set_timing(handle, 1) == GEMMTREE_SUCCESS);
    CHECK(gemmtree_last_times(handle, &times) == GEMMTREE_NO_TIME && times.device_ns == 1);
    CHECK(sgemm(handle, 101, 111, N, N, N, N, 0, c, queue, &event) == GEMMTREE_SUCCESS);
    CHECK(gemmtree_last_times(handle, &times) == GEMMTREE_SUCCESS && times.device_ns > 0 &&
          times.select_ns + times.arguments_ns + times.enqueue_ns > 0);
    CHECK(gemmtree_last_times(handle, NULL) == GEMMTREE_INVALID_ARGUMENT);
    cl_int code;
    cl_command_queue untimed = clCreateCommandQueue(context, device, 0, &code);
    CHECK(code == CL_SUCCESS);
    CHECK(sgemm(handle, 101, 111, N, N, N, N, 0, c, untimed, NULL) == GEMMTREE_SUCCESS);
    CHECK(gemmtree_last_times(handle, &times) == GEMMTREE_NO_TIME);
    /* What fails leaves no times of the call before it. */
    CHECK(sgemm(handle, 101, 111, N, N, N, N, 0, c, queue, NULL) == GEMMTREE_SUCCESS);
    CHECK(sgemm(handle, 101, 111, N, N, N, 1, 0, c, queue, NULL) != GEMMTREE_SUCCESS);
    CHECK(gemmtree_last_times(handle, &times) == GEMMTREE_NO_TIME);
    clReleaseCommandQueue(untimed);
    cl_image_format format = {CL_R, CL_FLOAT};
    cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = N, .image_height = N};
    cl_mem image = clCreateImage(context, CL_MEM_READ_WRITE, &format, &desc, NULL, &code);
    if (image != NULL) { /* not every driver has images */
        CHECK(sgemm(handle, 101, 111, N, N, N, N, 0, image, queue, NULL) == GEMMTREE_INVALID_ARGUMENT);
        CHECK(gemmtree_set_scratch(handle, image) == GEMMTREE_INVALID_ARGUMENT);
        clReleaseMemObject(image);
    }
    CHECK(gemmtree_set_timing(handle, 0) == GEMMTREE_SUCCESS);
    clReleaseEvent(event);
    CHECK(gemmtree_set_half_sums(handle, GEMMTREE_F32) == GEMMTREE_INVALID_ARGUMENT);
    CHECK(gemmtree_set_half_sums(handle, GEMMTREE_F16H) == GEMMTREE_SUCCESS);
    CHECK(gemmtree_hgemm(handle, GEMMTREE_ROW_MAJOR, GEMMTREE_NO_TRANSPOSE, GEMMTREE_NO_TRANSPOSE, N, N, N, 1.0f, a, 0,
                         N, b, 0, N, 0.0f, c, 0, N, queue, 0, NULL, NULL) == GEMMTREE_CLASS_NOT_SHIPPED);
    CHECK(gemmtree_set_half_sums(handle, GEMMTREE_F16) == GEMMTREE_SUCCESS);
}

/* 1 in 16 bits is 0x3c00, 2 is 0x4000, 8 is 0x4800. */
static void halves(void) {
    cl_ushort ones[N * N], result[N * N];
    for (size_t i = 0; i < N * N; ++i)
        ones[i] = 0x3c00;
    CHECK(clEnqueueWriteBuffer(queue, a, CL_TRUE, 0, sizeof ones, ones, 0, NULL, NULL) == CL_SUCCESS);
    CHECK(gemmtree_hgemm(handle, GEMMTREE_COLUMN_MAJOR, GEMMTREE_TRANSPOSE, GEMMTREE_TRANSPOSE, N, N, N, 1.0f, a, 0, N,
                         a, 0, N, 0.0f, c, 0, N, queue, 0, NULL, NULL) == GEMMTREE_SUCCESS);
    CHECK(clEnqueueReadBuffer(queue, c, CL_TRUE, 0, sizeof result, result, 0, NULL, NULL) == CL_SUCCESS);
    for (size_t i = 0; i < N * N; ++i)
        CHECK(result[i] == 0x4800);
    CHECK(gemmtree_hgemm_strided_batched(handle, GEMMTREE_ROW_MAJOR, GEMMTREE_NO_TRANSPOSE, GEMMTREE_NO_TRANSPOSE, 1, N,
                                         1, 2.0f, a, 0, 1, 1, a, 0, N, 0, 0.0f, c, 0, N, N, N, queue, 0, NULL,
                                         NULL) == GEMMTREE_SUCCESS);
    CHECK(clEnqueueReadBuffer(queue, c, CL_TRUE, 0, sizeof result, result, 0, NULL, NULL) == CL_SUCCESS);
    for (size_t i = 0; i < N * N; ++i)
        CHECK(result[i] == 0x4000);
}

/* `bytes` is a bundle of this driver. */
static void standing(const void *bytes, size_t length, const char *kept) {
    gemmtree_handle *other = handle;
    gemmtree_rung rung = GEMMTREE_RUNG_UNIVERSAL;
    char text[1024];
    size_t of_text = 0;
    CHECK(gemmtree_standing(NULL, &rung, text, sizeof text, &of_text) == GEMMTREE_INVALID_ARGUMENT);
    CHECK(gemmtree_standing(handle, NULL, NULL, 0, NULL) == GEMMTREE_SUCCESS);
    CHECK(gemmtree_standing(handle, &rung, text, sizeof text, &of_text) == GEMMTREE_SUCCESS);
    CHECK(rung == GEMMTREE_RUNG_BINARY && of_text == strlen(text) && strstr(text, "trained on") != NULL);
    CHECK(gemmtree_create_strict_from_memory(context, device, NULL, 5, &other) == GEMMTREE_INVALID_ARGUMENT);
    CHECK(other == NULL);
    CHECK(gemmtree_create_strict_from_memory(context, device, bytes, length - 1, &other) == GEMMTREE_BAD_BUNDLE);
    CHECK(gemmtree_create_strict_from_memory(context, device, bytes, length, &other) == GEMMTREE_SUCCESS);
    CHECK(gemmtree_save(NULL, kept) == GEMMTREE_INVALID_ARGUMENT);
    CHECK(gemmtree_save(other, NULL) == GEMMTREE_INVALID_ARGUMENT);
    CHECK(gemmtree_save(other, "/no/such/folder/kept.gtb") == GEMMTREE_FILE);
    CHECK(gemmtree_save(other, kept) == GEMMTREE_SUCCESS);
    gemmtree_destroy(other);
    CHECK(gemmtree_create_strict_from_file(context, device, "/no/such/file", &other) == GEMMTREE_FILE);
    CHECK(gemmtree_create_strict_from_file(context, device, kept, &other) == GEMMTREE_SUCCESS);
    CHECK(gemmtree_standing(other, &rung, text, sizeof text, &of_text) == GEMMTREE_SUCCESS);
    CHECK(rung == GEMMTREE_RUNG_BINARY && of_text == 0);
    CHECK(sgemm(other, 101, 111, N, N, N, N, 0, c, queue, NULL) == GEMMTREE_SUCCESS);
    gemmtree_destroy(other);
}

static void bundles(const char *path) {
    static unsigned char bytes[1 << 24];
    gemmtree_handle *other = handle;
    CHECK(gemmtree_create_from_file(context, device, NULL, &other) == GEMMTREE_INVALID_ARGUMENT && other == NULL);
    CHECK(gemmtree_create_from_file(NULL, device, path, &other) == GEMMTREE_INVALID_ARGUMENT);
    CHECK(gemmtree_create_from_file(context, NULL, path, &other) == GEMMTREE_INVALID_ARGUMENT);
    CHECK(gemmtree_create_from_file(context, device, path, NULL) == GEMMTREE_INVALID_ARGUMENT);
    CHECK(gemmtree_create_from_file(context, device, "/no/such/file", &other) == GEMMTREE_FILE);
    CHECK(strstr(gemmtree_last_error(), "/no/such/file") != NULL);
    /* It never ends. */
    CHECK(gemmtree_create_from_file(context, device, "/dev/zero", &other) == GEMMTREE_FILE);
    CHECK(gemmtree_create_from_memory(context, device, NULL, 5, &other) == GEMMTREE_INVALID_ARGUMENT);
    CHECK(gemmtree_create_from_memory(context, device, bytes, (size_t)-1, &other) == GEMMTREE_TOO_LARGE);
    CHECK(gemmtree_create_from_memory(context, device, bytes, 0, &other) == GEMMTREE_BAD_BUNDLE);
    FILE *file = fopen(path, "rb");
    const size_t length = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    CHECK(length > 100 && length < sizeof bytes);
    CHECK(gemmtree_create_from_memory(context, device, bytes, length - 1, &other) == GEMMTREE_BAD_BUNDLE);
    bytes[length / 2] ^= 1;
    CHECK(gemmtree_create_from_memory(context, device, bytes, length, &other) == GEMMTREE_BAD_BUNDLE);
    bytes[length / 2] ^= 1;
    CHECK(gemmtree_create_strict_from_memory(context, device, bytes, length, &other) == GEMMTREE_SUCCESS);
    char kept[1024];
    CHECK(snprintf(kept, sizeof kept, "%s.kept", path) < (int)sizeof kept);
    standing(bytes, length, kept);
    CHECK(remove(kept) == 0);
    memset(bytes, 0, length);
    CHECK(sgemm(other, 101, 111, N, N, N, N, 0, c, queue, NULL) == GEMMTREE_SUCCESS);
    gemmtree_destroy(other);
    gemmtree_destroy(NULL);
}

int main(int argc, char **argv) {
    cl_platform_id platform;
    cl_int code;
    CHECK(argc == 2 && *gemmtree_last_error() == 0);
    CHECK(clGetPlatformIDs(1, &platform, NULL) == CL_SUCCESS);
    CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) == CL_SUCCESS);
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    queue = clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &code);
    cl_mem *buffers[] = {&a, &b, &c};
    for (size_t i = 0; i < 3; ++i)
        *buffers[i] = clCreateBuffer(context, CL_MEM_READ_WRITE, N * N * sizeof(float), NULL, &code);
    CHECK(code == CL_SUCCESS);
    CHECK(gemmtree_create_from_file(context, device, argv[1], &handle) == GEMMTREE_SUCCESS);
    gemm_arguments();
    foreign_objects();
    questions();
    memory_and_times();
    halves();
    bundles(argv[1]);
    gemmtree_destroy(handle);
    for (size_t i = 0; i < 3; ++i)
        clReleaseMemObject(*buffers[i]);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    puts("right");
    return 0;
}
