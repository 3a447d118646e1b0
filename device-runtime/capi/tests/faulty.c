/* Loses or misuses memory of the library as it is told, so that a memory checker can be seen to find it:
 * faulty BUNDLE none|lost|gone. */
#include <stdio.h>
#include <string.h>

#include <gemmtree.h>

int main(int argc, char **argv) {
    cl_platform_id platform;
    cl_device_id device;
    cl_int code;
    gemmtree_handle *handle;
    size_t bytes;
    gemmtree_shape shape = {GEMMTREE_F32, GEMMTREE_ROW_MAJOR, GEMMTREE_NO_TRANSPOSE, GEMMTREE_NO_TRANSPOSE, 4, 4, 4, 1};
    if (argc != 3)
        return 1;
    if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
        return 1;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    if (gemmtree_create_from_file(context, device, argv[1], &handle) != GEMMTREE_SUCCESS) {
        fprintf(stderr, "%s\n", gemmtree_last_error());
        return 1;
    }
    if (strcmp(argv[2], "lost") != 0)
        gemmtree_destroy(handle);
    if (strcmp(argv[2], "gone") == 0)
        gemmtree_scratch_size(handle, &shape, &bytes);
    handle = NULL;
    clReleaseContext(context);
    return 0;
}
