// CUDA's mathematics libraries over torch: pointers as torch's tensors of the host, and a call's status.
#pragma once

#include "../device.h"
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

template <class T>
at::Scalar scalar(const void* value) {
  return at::Scalar(*static_cast<const Torchs<T>*>(value));
}

inline at::Tensor memory(const void* data, c10::ScalarType type, at::IntArrayRef sizes, at::IntArrayRef strides) {
  return at::from_blob(const_cast<void*>(data), sizes, strides, at::TensorOptions(at::kCPU).dtype(type));
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

// The status of a library's call: an error's text is said, since a number does not hold it.
template <class F>
int status_of(cudaStream_t stream, Statuses statuses, F work) {
  try {
    refuse_in_capture(stream);
    DeviceAccess access;
    Unseen unseen;
    work();
    return 0;
  } catch (const c10::OutOfMemoryError&) {
    return statuses.memory;
  } catch (const c10::Error& error) {
    TORCH_WARN(error.what_without_backtrace());
  } catch (const std::exception& error) {
    TORCH_WARN(error.what());
  }
  return statuses.failed;
}

}  // namespace morph_cuda
