// What the translation of `kernel<<<grid, block, shared, stream>>>(arguments)` calls.
#pragma once

#include <tuple>
#include <type_traits>
#include <utility>

#include "morph/regions.h"
#include "morph/runtime.h"
#include "morph/threads.h"

namespace morph_cuda {

// What is done with a kernel and its arguments, a closure.
struct Launched {
  void (*threads)(void* closure, Turns& turns);
  bool (*regions)(void* closure, dim3 grid, dim3 block, int64_t from, int64_t to);  // of blocks; false: has done nothing
  void* (*copy)(const void* closure);
  void (*destroy)(void* closure);
  void (*list)(void* closure, void** addresses);  // of the arguments
  size_t count;
};
template <class Kernel, class Regional, class... A>
struct Call {
  Kernel kernel;
  Regional regional;  // the kernel as regions, or nullptr
  std::tuple<A...> arguments;

  static bool run_regions(void* closure, dim3 grid, dim3 block, int64_t from, int64_t to) {
    Call call = *static_cast<Call*>(closure);
    stack_of_regions = uintptr_t(__builtin_frame_address(0));
    Regions regions(grid, block);
    regions.begin(from);
    for (; from < to; from++, regions.go_on())
      if (!std::apply([&](auto&... each) { return call.regional(regions, each...); }, call.arguments)) return false;
    return true;
  }
  static constexpr auto regions_of() -> decltype(&run_regions) {
    if constexpr (std::is_null_pointer_v<Regional>) return nullptr;
    else return &run_regions;
  }
  static constexpr Launched launched{
      [](void* closure, Turns& turns) {
        Call call = *static_cast<Call*>(closure);  // whose arguments no write of the kernel's changes
        turns.run([&] { std::apply([&](auto... each) { call.kernel(each...); }, call.arguments); });
      },
      regions_of(),
      [](const void* closure) -> void* { return new Call(*static_cast<const Call*>(closure)); },
      [](void* closure) { delete static_cast<Call*>(closure); },
      [](void* closure, void** addresses) {
        std::apply([&](auto&... each) { ((*addresses++ = (void*)&each), ...); }, static_cast<Call*>(closure)->arguments);
      },
      sizeof...(A)};
};
// Runs the threads of a grid, and returns when all are done; in a capture a graph keeps them.
void run(dim3 grid, dim3 block, size_t shared, cudaStream_t stream, const Launched& what, void* closure, void* kernel = nullptr);
// Refuses what a graph would not hold, while one is captured.
void refuse_in_capture(cudaStream_t stream);

struct Zero {  // a literal 0 among the arguments, which may be a number or a null pointer
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T> || std::is_pointer_v<T>>>
  operator T() const { return T(0); }
};

struct Configuration {
  dim3 grid, block;
  size_t shared;
  cudaStream_t stream;
  template <class G = dim3, class B = dim3, class S = cudaStream_t>  // of `{x, y}` nothing is deduced
  Configuration(const G& grid, const B& block, size_t shared = 0, const S& stream = nullptr)
      : grid(dim3(grid)), block(dim3(block)), shared(shared), stream(stream_of(stream)) {}

 private:
  template <class S>
  static cudaStream_t stream_of(const S& stream) {
    if constexpr (std::is_convertible_v<const S&, cudaStream_t>) return stream;
    else return reinterpret_cast<cudaStream_t>(size_t(stream));  // a literal 0
  }
};

template <class F, class R, class... A>
inline void launch(const Configuration& how, F&& kernel, R&& regional, A&&... arguments) {
  Call<std::decay_t<F>, std::decay_t<R>, std::decay_t<A>...> call{kernel, regional, {std::forward<A>(arguments)...}};
  run(how.grid, how.block, how.shared, how.stream, call.launched, &call);
}

template <class T>
struct DynamicShared {  // `extern __shared__ T name[]` outside of functions
  operator T*() const { return static_cast<T*>(dynamic_shared()); }
  template <class U>
  explicit operator U*() const { return static_cast<U*>(dynamic_shared()); }
  T& operator[](size_t i) const { return static_cast<T*>(dynamic_shared())[i]; }
};

// While it lives, the blocks of a launch may wait for each other.
class Cooperative {
 public:
  explicit Cooperative(bool wanted = true);
  ~Cooperative();
  static bool is_wanted();
  Cooperative(const Cooperative&) = delete;
  Cooperative& operator=(const Cooperative&) = delete;

 private:
  bool before_;
};

}  // namespace morph_cuda

template <class... P>
inline cudaError_t cudaLaunchKernel(void (*kernel)(P...), dim3 grid, dim3 block, void** arguments, size_t shared = 0,
                                    cudaStream_t stream = nullptr) {
  size_t i = 0;
  morph_cuda::Call<void (*)(P...), std::nullptr_t, std::decay_t<P>...> call{kernel, nullptr, {*static_cast<std::decay_t<P>*>(arguments[i++])...}};
  morph_cuda::run(grid, block, shared, stream, call.launched, &call, reinterpret_cast<void*>(kernel));
  return cudaSuccess;
}

template <class Kernel>
inline cudaError_t cudaLaunchCooperativeKernel(Kernel kernel, dim3 grid, dim3 block, void** arguments, size_t shared = 0,
                                               cudaStream_t stream = nullptr) {
  int device = 0, multiprocessors = 0, blocks = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, int(block.x * block.y * block.z), shared);
  if (uint64_t(grid.x) * grid.y * grid.z > uint64_t(blocks) * uint64_t(multiprocessors)) return cudaErrorCooperativeLaunchTooLarge;
  morph_cuda::Cooperative all;
  return cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}

enum cudaLaunchAttributeID {
  cudaLaunchAttributeIgnore = 0,
  cudaLaunchAttributeAccessPolicyWindow = 1,
  cudaLaunchAttributeCooperative = 2,
  cudaLaunchAttributeClusterDimension = 4,
  cudaLaunchAttributeProgrammaticStreamSerialization = 6,
  cudaLaunchAttributePriority = 8,
};
union cudaLaunchAttributeValue {
  char pad[64];
  int cooperative, programmaticStreamSerializationAllowed, priority;
  struct {
    unsigned x, y, z;
  } clusterDim;
};
struct cudaLaunchAttribute {
  cudaLaunchAttributeID id;
  cudaLaunchAttributeValue val;
};
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  size_t dynamicSmemBytes;
  cudaStream_t stream;
  cudaLaunchAttribute* attrs;
  unsigned numAttrs;
};

// There are no clusters of blocks; what only makes a launch begin sooner changes nothing.
template <class... P, class... A>
inline cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(P...), A&&... arguments) {
  bool is_cooperative = false;
  for (unsigned i = 0; i < config->numAttrs; i++) {
    const cudaLaunchAttributeValue& value = config->attrs[i].val;
    if (config->attrs[i].id == cudaLaunchAttributeCooperative) is_cooperative = value.cooperative;
    bool is_cluster = config->attrs[i].id == cudaLaunchAttributeClusterDimension;
    if (is_cluster && value.clusterDim.x * value.clusterDim.y * value.clusterDim.z > 1) return cudaErrorNotSupported;
  }
  std::tuple<std::decay_t<P>...> values(std::forward<A>(arguments)...);
  void* addresses[sizeof...(P) + 1] = {};
  std::apply([&](auto&... each) { size_t i = 0; ((addresses[i++] = const_cast<void*>(static_cast<const void*>(&each))), ...); }, values);
  auto launch = [&](auto function) {
    return function(kernel, config->gridDim, config->blockDim, addresses, config->dynamicSmemBytes, config->stream);
  };
  if (is_cooperative) return launch([](auto... all) { return cudaLaunchCooperativeKernel(all...); });
  return launch([](auto... all) { return cudaLaunchKernel(all...); });
}

namespace morph_cuda {

// What a kernel's address is launched with, since the address alone does not tell its parameters.
using Launcher = cudaError_t (*)(void* kernel, dim3 grid, dim3 block, void** arguments, size_t shared, cudaStream_t stream);
void* remember(void* kernel, Launcher launcher);
cudaError_t launch_by_address(void* kernel, dim3 grid, dim3 block, void** arguments, size_t shared, cudaStream_t stream);

struct KernelAddress {};
inline constexpr KernelAddress kernel_address;

// What the translation of `(void*)kernel` calls, whose pointer may be none to a kernel.
template <class T>
inline void* operator->*(KernelAddress, T* pointer) {
  return (void*)pointer;
}
template <class... P>
inline void* operator->*(KernelAddress, void (*kernel)(P...)) {
  return remember(reinterpret_cast<void*>(kernel), [](void* address, dim3 grid, dim3 block, void** arguments, size_t shared, cudaStream_t stream) {
    return cudaLaunchKernel(reinterpret_cast<void (*)(P...)>(address), grid, block, arguments, shared, stream);
  });
}

}  // namespace morph_cuda
