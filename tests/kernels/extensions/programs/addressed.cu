// Kernels that a file of C++ launches by their addresses, which nothing here takes.
namespace kernels {
using Number = int;
__global__ void add(int* out, Number value);
}
__global__ void kernels::add(int* out, Number value) { out[threadIdx.x] += value; }
__global__ void __launch_bounds__(64) fill(int* out, const int value) { out[threadIdx.x] = value; }
__global__ void fill(float* out) { out[threadIdx.x] = 0; }
template <class T, class = typename T::type> __global__ void fill(T* out) { out->x = 0; }
__global__ void shared_name(int* out, int value = 3) { out[threadIdx.x] = value; }
template <class T> __global__ void shared_name(T* out, T value, int more) { out[threadIdx.x] = value + more; }
