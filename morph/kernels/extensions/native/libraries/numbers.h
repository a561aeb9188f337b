// CUDA's mathematics libraries over torch: pointers as torch's tensors of the host, and a call's status.
#pragma once

#include "../device.h"
#include "../errors.h"
#include "../sanitizer/calls.h"
#include "morph/blas.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/util/complex.h>

#include <exception>

namespace morph_cuda {

template <class T> struct AsTorchs { using type = T; };
template <> struct AsTorchs<__half> { using type = c10::Half; };
template <> struct AsTorchs<cuComplex> { using type = c10::complex<float>; };
template <> struct AsTorchs<cuDoubleComplex> { using type = c10::complex<double>; };
template <class T> using Torchs = typename AsTorchs<T>::type;
template <class T> constexpr c10::ScalarType kTypeOf = c10::CppTypeToScalarType<Torchs<T>>::value;

// Of a tensor of them: the bytes from its first number to its last one.
inline size_t extent(const at::Tensor& numbers) {
  int64_t last = 0;
  for (int64_t i = 0; i < numbers.dim(); i++) last += (numbers.size(i) - 1) * numbers.stride(i);
  return numbers.numel() ? size_t(last + 1) * numbers.element_size() : 0;
}

// What a library reads or writes.
inline at::Tensor memory(const void* data, c10::ScalarType type, at::IntArrayRef sizes, at::IntArrayRef strides,
                         bool writes = false) {
  at::Tensor numbers =
      at::from_blob(const_cast<void*>(data), sizes, strides, at::TensorOptions(at::kCPU).dtype(type));
  if (auto* call = sanitizer::Call::of_this_thread()) call->use(numbers, data, extent(numbers), writes);
  return numbers;
}
template <class T>
T* used(T* data, size_t n, bool writes) {
  if (sanitizer::Call::of_this_thread()) memory(data, c10::kByte, {int64_t(n * sizeof(T))}, {1}, writes);
  return data;
}

template <class T>
at::Scalar scalar(const void* value) {
  return at::Scalar(*used(static_cast<const Torchs<T>*>(value), 1, false));
}

// A library's work is no operator of the program's: no mode, no autocast and no autograd sees it.
class Unseen {
 public:
  Unseen() : excluded_(keys()) {}

 private:
  static c10::DispatchKeySet keys() {
    using Key = c10::DispatchKey;
    return c10::autograd_dispatch_keyset_with_ADInplaceOrView | c10::autocast_dispatch_keyset |
           c10::DispatchKeySet({Key::Python, Key::PythonTLSSnapshot, Key::FuncTorchDynamicLayerBackMode,
                                Key::FuncTorchDynamicLayerFrontMode, Key::FuncTorchBatched});
  }
  c10::impl::ExcludeDispatchKeyGuard excluded_;
};

struct Statuses {
  int memory, failed;  // out of memory, and any other error of torch's
};

// The status of a library's call: an error's text is said, since a number does not hold it. What the sanitizer finds is
// thrown, as from a launch.
template <class F>
int status_in_python(const char* name, cudaStream_t stream, Statuses statuses, F work) {
  sanitizer::Call call(name, stream);
  try {
    refuse_in_capture(stream);
    DeviceAccess access;
    Unseen unseen;
    work();
  } catch (const c10::OutOfMemoryError&) {
    return statuses.memory;
  } catch (const c10::Error& error) {
    if (call.is_refused()) throw;
    TORCH_WARN(error.what_without_backtrace());
    return statuses.failed;
  } catch (const std::exception& error) {
    TORCH_WARN(error.what());
    return statuses.failed;
  }
  call.end();
  return 0;
}

template <class F>
int status_of(const char* name, cudaStream_t stream, Statuses statuses, F work) {
  int status = statuses.failed;
  reported([&] { return status = status_in_python(name, stream, statuses, work), cudaSuccess; });
  return status;
}

}  // namespace morph_cuda
