// torch's own headers for CUDA, in an operator that is registered for CUDA alone.
#include <ATen/Dispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/TensorAccessor.h>
#include <ATen/cuda/Atomic.cuh>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAGraphsUtils.cuh>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cublas_v2.h>
#include <curand_kernel.h>
#include <torch/library.h>

template <typename scalar_t>
using Accessor = at::PackedTensorAccessor32<scalar_t, 2, at::RestrictPtrTraits>;

template <typename scalar_t>
__global__ void add_rows(const Accessor<scalar_t> in, scalar_t* __restrict__ out) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < in.size(0) && column < in.size(1)) gpuAtomicAdd(out + column, in[row][column]);
}

at::Tensor sum_of_rows(const at::Tensor& in) {
  TORCH_CHECK(in.is_cuda(), "in must be a CUDA tensor");
  c10::cuda::CUDAGuard guard(in.device());
  at::Tensor out = at::zeros({in.size(1)}, in.options());
  dim3 block(8, 8), grid((in.size(1) + 7) / 8, (in.size(0) + 7) / 8);
  auto stream = c10::cuda::getCurrentCUDAStream();
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, in.scalar_type(), "sum_of_rows", [&] {
    add_rows<scalar_t><<<grid, block, 0, stream>>>(in.packed_accessor32<scalar_t, 2, at::RestrictPtrTraits>(),
                                                   out.data_ptr<scalar_t>());
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  });
  return out;
}

__global__ void fill(int64_t* out, int64_t value) { out[threadIdx.x] = value; }
__global__ __launch_bounds__(2 * 64, 1) void limited(int limit) { CUDA_KERNEL_ASSERT(int(threadIdx.x) < limit); }

// The device and the stream that the caller chose.
at::Tensor place(const at::Tensor& like) {
  c10::cuda::OptionalCUDAGuard guard(like.device());
  at::Tensor out = at::empty_like(like);
  int device = -1;
  C10_CUDA_CHECK(cudaGetDevice(&device));
  auto stream = c10::cuda::getCurrentCUDAStream();
  fill<<<1, 1, 0, stream>>>(out.data_ptr<int64_t>(), device);
  fill<<<1, 1, 0, stream>>>(out.data_ptr<int64_t>() + 1, stream.id());
  return out;
}
void check_limit(const at::Tensor&, int64_t threads, int64_t limit) {
  limited<<<1, threads>>>(limit);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

// The rows of a times the columns of b, by the handle that torch keeps.
at::Tensor product(const at::Tensor& a, const at::Tensor& b) {
  c10::cuda::CUDAGuard guard(a.device());
  at::Tensor out = at::empty({a.size(0), b.size(1)}, a.options());
  int m = int(b.size(1)), n = int(a.size(0)), k = int(a.size(1));
  float one = 1, zero = 0;
  cublasHandle_t handle = at::cuda::getCurrentCUDABlasHandle();
  cudaStream_t stream;
  TORCH_CUDABLAS_CHECK(cublasGetStream(handle, &stream));
  TORCH_CHECK(stream == at::cuda::getCurrentCUDAStream(), "the handle is of another stream");
  TORCH_CHECK(at::cuda::getCurrentCUDABlasLtHandle(), "there is no handle of cuBLASLt");
  TORCH_CUSOLVER_CHECK(cusolverDnGetStream(at::cuda::getCurrentCUDASolverDnHandle(), &stream));
  TORCH_CHECK(stream == at::cuda::getCurrentCUDAStream(), "cuSOLVER's handle is of another stream");
  TORCH_CUDABLAS_CHECK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, b.data_ptr<float>(), m,
                                   a.data_ptr<float>(), k, &zero, out.data_ptr<float>(), m));
  return out;
}

__global__ void drop(const float* in, float* out, int64_t n, float kept, at::PhiloxCudaState arguments) {
  auto [seed, offset] = at::cuda::philox::unpack(arguments);
  int64_t i = blockIdx.x * blockDim.x + threadIdx.x;
  curandStatePhilox4_32_10_t state;
  curand_init(seed, i, offset, &state);
  float4 numbers = curand_uniform4(&state);
  const float* each = &numbers.x;
  for (int64_t j = 4 * i; j < n && j < 4 * i + 4; j++) out[j] = each[j - 4 * i] <= kept ? in[j] / kept : 0.f;
}
at::Tensor dropout(const at::Tensor& in, double dropped, std::optional<at::Generator> wanted) {
  auto generator = at::get_generator_or_default<at::CUDAGeneratorImpl>(wanted, at::cuda::detail::getDefaultCUDAGenerator());
  at::Tensor out = at::empty_like(in);
  at::PhiloxCudaState state;
  {
    std::lock_guard<std::mutex> lock(generator->mutex_);
    state = generator->philox_cuda_state(4);
  }
  drop<<<(in.numel() + 255) / 256, 64, 0, at::cuda::getCurrentCUDAStream()>>>(
      in.data_ptr<float>(), out.data_ptr<float>(), in.numel(), float(1 - dropped), state);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return out;
}

TORCH_LIBRARY(morph_corpus, m) {
  m.def("sum_of_rows(Tensor x) -> Tensor");
  m.def("place(Tensor like) -> Tensor");
  m.def("check_limit(Tensor on, int threads, int limit) -> ()");
  m.def("product(Tensor a, Tensor b) -> Tensor");
  m.def("dropout(Tensor x, float dropped, Generator? generator=None) -> Tensor", {at::Tag::nondeterministic_seeded});
}
TORCH_LIBRARY_IMPL(morph_corpus, CUDA, m) {
  m.impl("sum_of_rows", &sum_of_rows);
  m.impl("place", &place);
  m.impl("check_limit", &check_limit);
  m.impl("product", &product);
  m.impl("dropout", &dropout);
}
// Without the dispatcher, as a function that is bound by pybind11 is called. Returns whether it was refused.
extern "C" int fill_raw(int64_t* out, int64_t value) {
  try {
    fill<<<1, 4>>>(out, value);
  } catch (const c10::Error&) {
    return 1;
  }
  return 0;
}

extern "C" int capture_status() {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusInvalidated;
  cudaError_t error = cudaStreamIsCapturing(c10::cuda::getCurrentCUDAStream(), &status);
  return error ? -1 : int(status);
}
