// What a module that is compiled at run time tells of its kernels, to morph.kernels.extensions.modules.
#pragma once

#include <assert.h>  // of nvrtc's own
#include <cstddef>
#include <cstdio>
#include <ctime>
#include <tuple>

#include "morph/launch.h"

#define clock() clock_t(clock64())  // there is no code of the host, whose clock() tells its time

namespace morph_cuda {

struct Kernel {
  const char* expression;  // what a program names it by, or null: by its symbol
  const void* address;
  Launcher launcher;  // null for a variable
  size_t bytes;       // of a variable
  size_t count;
  const size_t* sizes;  // of the parameters
  const size_t* offsets;
  const Kernel* next;
};

template <class... P>
struct Parameters {
  static constexpr size_t count = sizeof...(P);
  size_t sizes[count + 1] = {sizeof(P)...}, offsets[count + 1] = {};
  constexpr Parameters() {
    const size_t alignments[] = {alignof(P)..., 1};
    for (size_t i = 0, at = 0; i < count; at += sizes[i++]) {
      at = (at + alignments[i] - 1) / alignments[i] * alignments[i];
      offsets[i] = at;
    }
  }
};
template <class... P>
inline constexpr Parameters<P...> parameters;

template <class... P>
cudaError_t launch_with(void* kernel, dim3 grid, dim3 block, void** arguments, size_t shared, cudaStream_t stream) {
  size_t i = 0;
  std::tuple<std::decay_t<P>...> values{*static_cast<std::decay_t<P>*>(arguments[i++])...};
  auto run = [&](auto&... each) { launch({grid, block, shared, stream}, reinterpret_cast<void (*)(P...)>(kernel), nullptr, each...); };
  std::apply(run, values);
  return cudaSuccess;
}

static const Kernel* kernels = nullptr;  // of this module

struct Known : Kernel {
  template <class... P>
  Known(const char* expression, void (*kernel)(P...))
      : Kernel{expression, reinterpret_cast<const void*>(kernel), &launch_with<P...>, 0, sizeof...(P),
               parameters<std::decay_t<P>...>.sizes, parameters<std::decay_t<P>...>.offsets, kernels} {
    kernels = this;
  }
  template <class T, class = std::enable_if_t<!std::is_function_v<T>>>
  Known(const char* expression, T* variable)
      : Kernel{expression, const_cast<const void*>(static_cast<const volatile void*>(variable)), nullptr, sizeof(T), 0, nullptr, nullptr, kernels} {
    kernels = this;
  }
};

}  // namespace morph_cuda

extern "C" __attribute__((visibility("default"))) inline __attribute__((used)) const void* morph_kernels() {
  return ::morph_cuda::kernels;
}
