// Kernels of the hot operators: what the boxed fallback does, written by the compiler for one operator's own types.
#pragma once

#include "call.h"
#include "fallback.h"
#include "random.h"

#include <ATen/core/List.h>
#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/dispatch/Dispatcher.h>

namespace software {

template <class Op, class Signature>
class Unboxed;
template <class Op, class Signature>
class UnboxedForLists;

}  // namespace software

namespace c10::impl {

// A boxed call of such an operator goes to the boxed fallback; torch would generate a kernel for each.
struct BoxedFallback {
  static void call(OperatorKernel*, const OperatorHandle& op, DispatchKeySet keys, torch::jit::Stack* stack) {
    software::fallback(op, keys, stack);
  }
};
template <class Op, class Signature, bool legacy>
struct make_boxed_from_unboxed_functor<software::Unboxed<Op, Signature>, legacy> final : BoxedFallback {};
template <class Op, class Signature, bool legacy>
struct make_boxed_from_unboxed_functor<software::UnboxedForLists<Op, Signature>, legacy> final : BoxedFallback {};

}  // namespace c10::impl

namespace software {

using OptionalTensors = c10::List<std::optional<at::Tensor>>;
using Tensors = c10::SmallVector<at::Tensor*, 8>;

inline void consider(Call& call, const at::Tensor& tensor) { call.consider(tensor); }
void consider(Call& call, const std::optional<at::Tensor>& tensor);
void consider(Call& call, at::TensorList tensors);
void consider(Call& call, const at::ITensorListRef& tensors);
void consider(Call& call, const OptionalTensors& tensors);
inline void consider(Call& call, const std::optional<c10::Device>& device) {
  if (device) call.consider(*device);
}
template <class Other>
void consider(Call&, const Other&) {}

inline at::Tensor& to_host(Call& call, at::Tensor& written) { return call.to_host(written, true); }
inline const at::Tensor& to_host(Call& call, const at::Tensor& tensor) { return call.to_host(tensor); }
std::optional<at::Tensor> to_host(Call& call, const std::optional<at::Tensor>& tensor);
std::vector<at::Tensor> to_host(Call& call, at::TensorList tensors);
std::vector<at::Tensor> to_host(Call& call, const at::ITensorListRef& tensors);
OptionalTensors to_host(Call& call, const OptionalTensors& tensors);
std::optional<c10::Device> to_host(Call& call, const std::optional<c10::Device>& device);
std::optional<at::Generator> to_host(Call& call, const std::optional<at::Generator>& generator);
template <class Other>
const Other& to_host(Call&, const Other& other) {
  return other;
}

inline void collect(Tensors& into, at::Tensor& tensor) { into.push_back(&tensor); }
inline void collect(Tensors& into, std::vector<at::Tensor>& tensors) {
  for (at::Tensor& tensor : tensors) into.push_back(&tensor);
}
template <class... Parts>
void collect(Tensors& into, std::tuple<Parts...>& parts) {
  std::apply([&](auto&... part) { (collect(into, part), ...); }, parts);
}
template <class Other>
void collect(Tensors&, Other&) {}

inline void finish(Call& call, at::Tensor& result) {
  at::Tensor* results[] = {&result};
  call.to_device(results);
}
template <class Result>
void finish(Call& call, Result& result) {
  Tensors results;
  collect(results, result);
  if (!results.empty()) call.to_device(results);
}

// What the function returns for views of the arguments, on the device.
template <class Function, class... Arguments>
auto computed_on_host(Call& call, Function function, Arguments&... arguments) {
  auto run = [&] {
    Running running(call);
    return function(to_host(call, arguments)...);
  };
  (consider(call, arguments), ...);
  if constexpr (std::is_void_v<decltype(run())>) {
    run();
    call.write_back();
  } else {
    auto result = run();
    finish(call, result);
    return result;
  }
}

template <size_t size>
struct Name {
  constexpr Name(const char (&given)[size]) { std::copy_n(given, size, text); }
  char text[size];
};

// An operator made of the CPU's, written for CPU tensors.
template <Name name, auto function>
struct OnHost;

template <Name name, class Result, class... Arguments, Result (*function)(Arguments...)>
struct OnHost<name, function> {
  static Result call(Arguments... arguments) {
    Call call(name.text, false, sizeof...(Arguments));
    return computed_on_host(call, function, arguments...);
  }
};

template <class Op, class Signature = typename Op::schema>
class Unboxed;

template <class Op, class Result, class... Arguments>
class Unboxed<Op, Result(Arguments...)> final : public c10::OperatorKernel {
 public:
  Result operator()(Arguments... arguments) {
    Call call(Op::name, takes_host_tensors_, sizeof...(Arguments));
    auto function = [](auto&&... views) {
      constexpr auto keys = c10::DispatchKeySet(c10::DispatchKey::CPU);
      if constexpr (writes) static_cast<void>(Op::redispatch(keys, views...));
      else return Op::redispatch(keys, views...);
    };
    if constexpr (std::is_same_v<Result, at::Tensor&>) {
      computed_on_host(call, function, arguments...);
      return first(arguments...);
    } else {
      return computed_on_host(call, function, arguments...);
    }
  }

 private:
  static constexpr bool writes = std::is_void_v<Result> || std::is_same_v<Result, at::Tensor&>;

  template <class... Others>
  static at::Tensor& first(at::Tensor& written, Others&...) {
    return written;
  }

  bool takes_host_tensors_ = takes_host_tensors(Op::name);
};

// Of tensors on several devices the lists' operators are made one by one, as on CUDA.
template <class Op, class Signature = typename Op::schema>
class UnboxedForLists;

template <class Op, class Result, class... Arguments>
class UnboxedForLists<Op, Result(Arguments...)> final : public c10::OperatorKernel {
 public:
  Result operator()(Arguments... arguments) {
    c10::Device first(settings().type, -1);
    bool together = true;
    (look_at(first, together, arguments), ...);
    if (together) return unboxed_(arguments...);
    return Op::redispatch(c10::DispatchKeySet(c10::DispatchKey::CPU), arguments...);
  }

 private:
  static void look_at(c10::Device& first, bool& together, at::TensorList tensors) {
    for (const at::Tensor& tensor : tensors) {
      if (first.index() < 0) first = tensor.device();
      together &= tensor.device() == first && tensor.layout() == c10::kStrided;
    }
  }
  template <class Other>
  static void look_at(c10::Device&, bool&, const Other&) {}

  Unboxed<Op> unboxed_;
};

template <class Op, class Kernel>
void install_kernel() {
  auto& dispatcher = c10::Dispatcher::singleton();
  c10::OperatorName name{Op::name, Op::overload_name};
  if (!is_displaced() && dispatcher.findSchemaOrThrow(Op::name, Op::overload_name).hasKernelForDispatchKey(backend_key()))
    return;
  auto kernel = c10::KernelFunction::makeFromUnboxedFunctor<false, Kernel>(std::make_unique<Kernel>());
  static auto* handle = new c10::RegistrationHandleRAII(
      dispatcher.registerImpl(name, backend_key(), std::move(kernel),
                              c10::impl::CppSignature::make<typename Op::schema>(), nullptr, __FILE__));
}

template <class Op>
void install_unboxed() {
  if constexpr (Known<Op>) install_kernel<Op, Unboxed<Op>>();
}

template <class Op>
void install_for_lists() {
  if constexpr (Known<Op>) install_kernel<Op, UnboxedForLists<Op>>();
}

}  // namespace software
