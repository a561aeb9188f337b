// cuFFT over torch's transforms: neither direction is divided by the number of values.
#include "morph/fft.h"
#include "numbers.h"

#include <ATen/ops/fft_fftn.h>
#include <ATen/ops/fft_ifftn.h>
#include <ATen/ops/fft_irfftn.h>
#include <ATen/ops/fft_rfftn.h>

#include <map>
#include <mutex>
#include <vector>

namespace morph_cuda::fft {
namespace {

using Sizes = std::vector<int64_t>;

// How a program's numbers lie in memory. Without `embedding` they are packed.
struct Layout {
  Sizes embedding;
  int64_t stride = 1, distance = 0;

  // The strides of the batch and of each dimension; `last` numbers are in the last one where they are packed.
  Sizes strides(const Sizes& n, int64_t last) const {
    Sizes sizes = embedding.empty() ? n : embedding;
    if (embedding.empty()) sizes.back() = last;
    Sizes result(n.size() + 1);
    int64_t step = embedding.empty() ? 1 : stride;
    for (size_t i = n.size(); i > 0; i--) result[i] = step, step *= sizes[i - 1];
    result[0] = embedding.empty() ? step : distance;
    return result;
  }
};

struct Plan {
  cudaStream_t stream = nullptr;
  Sizes n;
  Layout in, out;
  cufftType type = CUFFT_C2C;
  int64_t batch = 0;

  int64_t half() const { return n.back() / 2 + 1; }
};

std::mutex lock;
std::map<cufftHandle, Plan> plans;

cufftHandle added() {
  std::lock_guard<std::mutex> held(lock);
  static cufftHandle last = 0;
  plans[++last];
  return last;
}

template <class F>
cufftResult with(cufftHandle handle, F work) {
  std::lock_guard<std::mutex> held(lock);
  auto found = plans.find(handle);
  return found == plans.end() ? CUFFT_INVALID_PLAN : (work(found->second), CUFFT_SUCCESS);
}

template <class T>
cufftResult describe(cufftHandle handle, int rank, const T* n, const T* in, Layout in_steps, const T* out, Layout out_steps,
                     cufftType type, int64_t batch, size_t* bytes) {
  if (rank < 1 || rank > 3 || !n || batch < 1) return CUFFT_INVALID_VALUE;
  for (int i = 0; i < rank; i++)
    if (n[i] < 1) return CUFFT_INVALID_SIZE;
  if (bytes) *bytes = 0;
  if (in) in_steps.embedding.assign(in, in + rank);
  if (out) out_steps.embedding.assign(out, out + rank);
  return with(handle, [&](Plan& plan) { plan = {plan.stream, {n, n + rank}, in_steps, out_steps, type, batch}; });
}

cufftResult describe_packed(cufftHandle handle, const Sizes& n, cufftType type, int64_t batch, size_t* bytes) {
  return describe<int64_t>(handle, int(n.size()), n.data(), nullptr, {}, nullptr, {}, type, batch, bytes);
}

template <class F>
cufftResult made(cufftHandle* handle, F describe) {
  if (!handle) return CUFFT_INVALID_VALUE;
  cufftHandle fresh = added();
  cufftResult result = describe(fresh);
  if (result == CUFFT_SUCCESS) *handle = fresh;
  else cufftDestroy(fresh);
  return result;
}

at::Tensor numbers(const void* data, c10::ScalarType type, Sizes n, int64_t last, const Layout& layout, int64_t packed,
                   int64_t batch, bool writes) {
  Sizes strides = layout.strides(n, packed);
  n.back() = last;
  n.insert(n.begin(), batch);
  return memory(data, type, n, strides, writes);
}

Sizes dimensions(const Plan& plan) {
  Sizes all(plan.n.size());
  for (size_t i = 0; i < all.size(); i++) all[i] = int64_t(i) + 1;
  return all;
}

at::Tensor transformed(const Plan& plan, const at::Tensor& in, bool to_real, int direction) {
  Sizes along = dimensions(plan);
  if (!in.is_complex()) return at::fft_rfftn(in, c10::nullopt, along);
  if (to_real) return at::fft_irfftn(in, at::OptionalIntArrayRef(plan.n), along, "forward");
  return direction == CUFFT_INVERSE ? at::fft_ifftn(in, c10::nullopt, along, "forward")
                                    : at::fft_fftn(in, c10::nullopt, along);
}

// From and to are the types in memory. Packed real numbers that are transformed in place have room for their results.
cufftResult execute(cufftHandle handle, cufftType type, const void* in, c10::ScalarType from, void* out, c10::ScalarType to,
                    int direction, const char* name = __builtin_FUNCTION()) {
  Plan plan;
  cufftResult found = with(handle, [&](Plan& kept) { plan = kept; });
  if (found != CUFFT_SUCCESS) return found;
  if (plan.n.empty()) return CUFFT_INVALID_PLAN;
  if (plan.type != type) return CUFFT_INVALID_TYPE;
  if (!in || !out || (direction != CUFFT_FORWARD && direction != CUFFT_INVERSE)) return CUFFT_INVALID_VALUE;
  bool from_real = !c10::isComplexType(from), to_real = !c10::isComplexType(to);
  int64_t whole = plan.n.back(), half = from_real || to_real ? plan.half() : whole;
  int64_t real_packed = in == out ? 2 * plan.half() : whole;
  return cufftResult(status_of(name, plan.stream, {CUFFT_ALLOC_FAILED, CUFFT_EXEC_FAILED}, [&] {
    at::Tensor read = numbers(in, from, plan.n, from_real ? whole : half, plan.in, from_real ? real_packed : half,
                              plan.batch, false);
    at::Tensor write = numbers(out, to, plan.n, to_real ? whole : half, plan.out, to_real ? real_packed : half,
                               plan.batch, true);
    write.copy_(transformed(plan, read, to_real, direction));
  }));
}

}  // namespace
}  // namespace morph_cuda::fft

using namespace morph_cuda::fft;

extern "C" {

cufftResult cufftGetVersion(int* version) {
  if (!version) return CUFFT_INVALID_VALUE;
  return *version = CUFFT_VERSION, CUFFT_SUCCESS;
}
cufftResult cufftCreate(cufftHandle* handle) {
  return made(handle, [](cufftHandle) { return CUFFT_SUCCESS; });
}
cufftResult cufftDestroy(cufftHandle handle) {
  std::lock_guard<std::mutex> held(lock);
  return plans.erase(handle) ? CUFFT_SUCCESS : CUFFT_INVALID_PLAN;
}
cufftResult cufftSetStream(cufftHandle handle, cudaStream_t stream) {
  return with(handle, [&](Plan& plan) { plan.stream = stream; });
}
cufftResult cufftSetAutoAllocation(cufftHandle handle, int) {
  return with(handle, [](Plan&) {});
}
cufftResult cufftSetWorkArea(cufftHandle handle, void*) {
  return with(handle, [](Plan&) {});
}
cufftResult cufftGetSize(cufftHandle handle, size_t* bytes) {
  return with(handle, [&](Plan&) { *bytes = 0; });
}

cufftResult cufftMakePlan1d(cufftHandle handle, int nx, cufftType type, int batch, size_t* bytes) {
  return describe_packed(handle, {nx}, type, batch, bytes);
}
cufftResult cufftMakePlan2d(cufftHandle handle, int nx, int ny, cufftType type, size_t* bytes) {
  return describe_packed(handle, {nx, ny}, type, 1, bytes);
}
cufftResult cufftMakePlan3d(cufftHandle handle, int nx, int ny, int nz, cufftType type, size_t* bytes) {
  return describe_packed(handle, {nx, ny, nz}, type, 1, bytes);
}
cufftResult cufftMakePlanMany(cufftHandle handle, int rank, int* n, int* in, int in_stride, int in_distance, int* out,
                              int out_stride, int out_distance, cufftType type, int batch, size_t* bytes) {
  return describe(handle, rank, n, in, {{}, in_stride, in_distance}, out, {{}, out_stride, out_distance}, type, batch, bytes);
}
cufftResult cufftMakePlanMany64(cufftHandle handle, int rank, long long* n, long long* in, long long in_stride,
                                long long in_distance, long long* out, long long out_stride, long long out_distance,
                                cufftType type, long long batch, size_t* bytes) {
  return describe(handle, rank, n, in, {{}, in_stride, in_distance}, out, {{}, out_stride, out_distance}, type, batch, bytes);
}
cufftResult cufftPlan1d(cufftHandle* handle, int nx, cufftType type, int batch) {
  return made(handle, [&](cufftHandle fresh) { return cufftMakePlan1d(fresh, nx, type, batch, nullptr); });
}
cufftResult cufftPlan2d(cufftHandle* handle, int nx, int ny, cufftType type) {
  return made(handle, [&](cufftHandle fresh) { return cufftMakePlan2d(fresh, nx, ny, type, nullptr); });
}
cufftResult cufftPlan3d(cufftHandle* handle, int nx, int ny, int nz, cufftType type) {
  return made(handle, [&](cufftHandle fresh) { return cufftMakePlan3d(fresh, nx, ny, nz, type, nullptr); });
}
cufftResult cufftPlanMany(cufftHandle* handle, int rank, int* n, int* in, int in_stride, int in_distance, int* out,
                          int out_stride, int out_distance, cufftType type, int batch) {
  return made(handle, [&](cufftHandle fresh) {
    return cufftMakePlanMany(fresh, rank, n, in, in_stride, in_distance, out, out_stride, out_distance, type, batch, nullptr);
  });
}

cufftResult cufftExecC2C(cufftHandle handle, cufftComplex* in, cufftComplex* out, int direction) {
  return execute(handle, CUFFT_C2C, in, c10::kComplexFloat, out, c10::kComplexFloat, direction);
}
cufftResult cufftExecZ2Z(cufftHandle handle, cufftDoubleComplex* in, cufftDoubleComplex* out, int direction) {
  return execute(handle, CUFFT_Z2Z, in, c10::kComplexDouble, out, c10::kComplexDouble, direction);
}
cufftResult cufftExecR2C(cufftHandle handle, cufftReal* in, cufftComplex* out) {
  return execute(handle, CUFFT_R2C, in, c10::kFloat, out, c10::kComplexFloat, CUFFT_FORWARD);
}
cufftResult cufftExecD2Z(cufftHandle handle, cufftDoubleReal* in, cufftDoubleComplex* out) {
  return execute(handle, CUFFT_D2Z, in, c10::kDouble, out, c10::kComplexDouble, CUFFT_FORWARD);
}
cufftResult cufftExecC2R(cufftHandle handle, cufftComplex* in, cufftReal* out) {
  return execute(handle, CUFFT_C2R, in, c10::kComplexFloat, out, c10::kFloat, CUFFT_INVERSE);
}
cufftResult cufftExecZ2D(cufftHandle handle, cufftDoubleComplex* in, cufftDoubleReal* out) {
  return execute(handle, CUFFT_Z2D, in, c10::kComplexDouble, out, c10::kDouble, CUFFT_INVERSE);
}
}
