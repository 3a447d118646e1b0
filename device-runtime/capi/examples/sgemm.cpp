// Column-major multiplications from C++: handles that release themselves, errors as exceptions, a wait list.
//
//     c++ sgemm.cpp $(pkg-config --cflags --libs gemmtree) -lOpenCL -o sgemm && ./sgemm model.gtb
#include <cmath>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include <gemmtree.h>

namespace {

void check(gemmtree_status status) {
    if (status != GEMMTREE_SUCCESS)
        throw std::runtime_error(gemmtree_last_error());
}

void check_cl(cl_int code, const char *call) {
    if (code != CL_SUCCESS)
        throw std::runtime_error(std::string(call) + " failed: " + std::to_string(code));
}

// An object that its function releases.
template <auto Release>
struct Releaser {
    template <typename T>
    void operator()(T *object) const {
        Release(object);
    }
};
template <typename T, auto Release>
using Owned = std::unique_ptr<std::remove_pointer_t<T>, Releaser<Release>>;

using Context = Owned<cl_context, clReleaseContext>;
using Queue = Owned<cl_command_queue, clReleaseCommandQueue>;
using Buffer = Owned<cl_mem, clReleaseMemObject>;
using Event = Owned<cl_event, clReleaseEvent>;
using Handle = Owned<gemmtree_handle *, gemmtree_destroy>;

Buffer buffer(const Context &context, std::vector<float> &values) {
    cl_int code;
    Buffer made(clCreateBuffer(context.get(), CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                               values.size() * sizeof(float), values.data(), &code));
    check_cl(code, "clCreateBuffer");
    return made;
}

std::vector<float> numbers(std::size_t count, float step) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i)
        values[i] = std::sin(step * static_cast<float>(i + 1));
    return values;
}

void run(const char *bundle) {
    cl_platform_id platform;
    cl_device_id device;
    cl_int code;
    check_cl(clGetPlatformIDs(1, &platform, nullptr), "clGetPlatformIDs");
    check_cl(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr), "clGetDeviceIDs");
    Context context(clCreateContext(nullptr, 1, &device, nullptr, nullptr, &code));
    check_cl(code, "clCreateContext");
    Queue queue(clCreateCommandQueue(context.get(), device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &code));
    check_cl(code, "clCreateCommandQueue");

    gemmtree_handle *raw = nullptr;
    check(gemmtree_create_from_file(context.get(), device, bundle, &raw));
    Handle handle(raw);

    // D = (A * B) * B, all square and column-major: the second product waits for the first.
    constexpr std::size_t n = 24;
    std::vector<float> a = numbers(n * n, 0.7f), b = numbers(n * n, 1.3f), c(n * n), d(n * n);
    const Buffer in_a = buffer(context, a), in_b = buffer(context, b), in_c = buffer(context, c),
                 in_d = buffer(context, d);
    const auto multiply = [&](const Buffer &left, const Buffer &right, const Buffer &to,
                              const std::vector<cl_event> &after) {
        cl_event event = nullptr;
        check(gemmtree_sgemm(handle.get(), GEMMTREE_COLUMN_MAJOR, GEMMTREE_NO_TRANSPOSE, GEMMTREE_TRANSPOSE, n, n, n,
                             1.0f, left.get(), 0, n, right.get(), 0, n, 0.0f, to.get(), 0, n, queue.get(),
                             static_cast<cl_uint>(after.size()), after.data(), &event));
        return Event(event);
    };
    const Event first = multiply(in_a, in_b, in_c, {});
    const Event second = multiply(in_c, in_b, in_d, {first.get()});
    const cl_event last = second.get();
    check_cl(clEnqueueReadBuffer(queue.get(), in_d.get(), CL_TRUE, 0, d.size() * sizeof(float), d.data(), 1, &last,
                                 nullptr),
             "clEnqueueReadBuffer");

    // op(B) is the transpose of B: element (k, j) of it is b[j + k * n] stored column by column.
    const auto product = [&](const std::vector<double> &left) {
        std::vector<double> result(n * n);
        for (std::size_t j = 0; j < n; ++j)
            for (std::size_t i = 0; i < n; ++i)
                for (std::size_t k = 0; k < n; ++k)
                    result[i + j * n] += left[i + k * n] * static_cast<double>(b[j + k * n]);
        return result;
    };
    const std::vector<double> expected = product(product({a.begin(), a.end()}));
    for (std::size_t i = 0; i < n * n; ++i)
        if (!(std::abs(static_cast<double>(d[i]) - expected[i]) < 1e-3))
            throw std::runtime_error("element " + std::to_string(i) + " is wrong");
    std::puts("right");
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: %s BUNDLE\n", argv[0]);
        return 1;
    }
    try {
        run(argv[1]);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
