// Kernels of the hot operators: what the boxed fallback does, written by the compiler for the types of a signature.
// Operators of one signature share a kernel class, since the compiler needs a tenth of a second for each class.
#pragma once

#include "operators/call.h"
#include "operators/dtypes.h"
#include "operators/fallback.h"
#include "device/random.h"

#include <ATen/core/List.h>
#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

namespace software {

template <class Signature>
class Unboxed;
template <class Signature>
class UnboxedForLists;

}  // namespace software

namespace c10::impl {

// A boxed call of such an operator goes to the boxed fallback; torch would generate a kernel for each.
struct BoxedFallback {
  static void call(OperatorKernel*, const OperatorHandle& op, DispatchKeySet keys, torch::jit::Stack* stack) {
    software::fallback(op, keys, stack);
  }
};
template <class Signature, bool legacy>
struct make_boxed_from_unboxed_functor<software::Unboxed<Signature>, legacy> final : BoxedFallback {};
template <class Signature, bool legacy>
struct make_boxed_from_unboxed_functor<software::UnboxedForLists<Signature>, legacy> final : BoxedFallback {};

}  // namespace c10::impl

namespace software {

using OptionalTensors = c10::List<std::optional<at::Tensor>>;
using Tensors = c10::SmallVector<at::Tensor*, 8>;

// Of a list's tensors, for one call.
struct HostViews : std::vector<at::Tensor> {
  HostViews() = default;
  HostViews(HostViews&&) = default;
  ~HostViews() {
    for (at::Tensor& each : *this) Views::of_this_thread().keep(std::move(each));
  }
};

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
HostViews to_host(Call& call, at::TensorList tensors);
HostViews to_host(Call& call, const at::ITensorListRef& tensors);
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
    return call.asserting([&] { return function(to_host(call, arguments)...); });
  };
  (consider(call, arguments), ...);
  call.considered();
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
  constexpr Name without_overload() const {
    Name other = *this;
    std::fill(std::find(other.text, other.text + size, '.'), other.text + size, '\0');
    return other;
  }
  char text[size];
};

// An operator made of the CPU's, written for CPU tensors.
template <Name name, auto function>
struct OnHost;

template <Name name, class Result, class... Arguments, Result (*function)(Arguments...)>
struct OnHost<name, function> {
  static Result call(Arguments... arguments) {
    static const Traits& own = traits(name.text);
    Call call(name.text, own, sizeof...(Arguments));
    return computed_on_host(call, function, arguments...);
  }
};

template <Name name, auto function>
void on_host(torch::Library& library) {
  library.impl(name.text, &OnHost<name.without_overload(), function>::call);
}

template <class Result, class... Arguments>
class Unboxed<Result(Arguments...)> final : public c10::OperatorKernel {
 public:
  using Redispatch = Result (*)(c10::DispatchKeySet, Arguments...);

  Unboxed(const char* name, Redispatch redispatch)
      : name_(name), redispatch_(redispatch), traits_(traits(name)) {}

  Result operator()(Arguments... arguments) {
    if (traits_.widened && (widens(traits_, arguments) || ...))
      return redispatch_(c10::DispatchKeySet(WIDENING), arguments...);
    Call call(name_, traits_, sizeof...(Arguments), reads);
    call.writes_list = std::is_void_v<Result>;
    auto function = [this](auto&&... views) {
      constexpr auto keys = c10::DispatchKeySet(c10::DispatchKey::CPU);
      if constexpr (writes) static_cast<void>(redispatch_(keys, views...));
      else return redispatch_(keys, views...);
    };
    if constexpr (std::is_same_v<Result, at::Tensor&>) {
      computed_on_host(call, function, arguments...);
      return target(arguments...);
    } else {
      return computed_on_host(call, function, arguments...);
    }
  }

  Result on_the_host(Arguments... arguments) {
    return redispatch_(c10::DispatchKeySet(c10::DispatchKey::CPU), arguments...);
  }

 private:
  static constexpr bool writes = std::is_void_v<Result> || std::is_same_v<Result, at::Tensor&>;
  static constexpr bool reads = !std::is_void_v<Result> && (!std::is_same_v<Arguments, at::Tensor&> && ...);

  template <class First, class... Others>
  static at::Tensor& target(First& first, Others&... others) {
    if constexpr (std::is_same_v<First, at::Tensor>) return first;
    else return target(others...);
  }

  const char* name_;
  Redispatch redispatch_;
  const Traits& traits_;
};

// What the device computes for an operator that has no kernel here, or in cases that its kernel leaves.
template <class Operator, class... Arguments>
decltype(auto) plain(Arguments&&... arguments) {
  static Unboxed<typename Operator::schema> kernel(Operator::name, &Operator::redispatch);
  return kernel(std::forward<Arguments>(arguments)...);
}

// Of tensors on several devices the lists' operators are made one by one, as on CUDA.
template <class Result, class... Arguments>
class UnboxedForLists<Result(Arguments...)> final : public c10::OperatorKernel {
 public:
  UnboxedForLists(const char* name, typename Unboxed<Result(Arguments...)>::Redispatch redispatch)
      : unboxed_(name, redispatch), singly_for_halves_(is_rounded(name)) {}

  Result operator()(Arguments... arguments) {
    std::optional<c10::Device> first;
    bool together = true;
    (look_at(first, together, arguments), ...);
    if (singly_for_halves_) (look_for_halves(together, arguments), ...);
    return together ? unboxed_(arguments...) : unboxed_.on_the_host(arguments...);
  }

 private:
  static void look_at(std::optional<c10::Device>& first, bool& together, at::TensorList tensors) {
    for (const at::Tensor& tensor : tensors) {
      if (!first) first = tensor.device();
      together &= tensor.device() == *first && tensor.layout() == c10::kStrided;
    }
  }
  template <class Other>
  static void look_at(std::optional<c10::Device>&, bool&, const Other&) {}

  // Whose results for single halves arithmetic.cpp rounds as CUDA does.
  static bool is_rounded(std::string_view name) {
    name = name.substr(0, name.find_last_not_of('_') + 1);
    return name == "aten::_foreach_add" || name == "aten::_foreach_sub" || name == "aten::_foreach_pow";
  }
  static void look_for_halves(bool& together, at::TensorList tensors) {
    for (const at::Tensor& each : tensors)
      together &= each.scalar_type() != at::kHalf && each.scalar_type() != at::kBFloat16;
  }
  template <class Other>
  static void look_for_halves(bool&, const Other&) {}

  Unboxed<Result(Arguments...)> unboxed_;
  bool singly_for_halves_;
};

// Does nothing if the operator has a kernel for the device already.
void install_kernel(const char* name, const char* overload, c10::KernelFunction kernel, c10::impl::CppSignature signature);

template <template <class> class Kernel, class Signature>
c10::KernelFunction kernel(const char* name, typename Unboxed<Signature>::Redispatch redispatch) {
  return c10::KernelFunction::makeFromUnboxedFunctor<false, Kernel<Signature>>(
      std::make_unique<Kernel<Signature>>(name, redispatch));
}

template <class Op, template <class> class Kernel = Unboxed>
void install_unboxed() {
  if constexpr (Known<Op>) {
    using Signature = typename Op::schema;
    install_kernel(Op::name, Op::overload_name, kernel<Kernel, Signature>(Op::name, &Op::redispatch),
                   c10::impl::CppSignature::make<Signature>());
  }
}

}  // namespace software

#define DECLARE_OPERATOR(name) struct name;
#define INSTALL_OPERATOR(name) install_unboxed<at::_ops::name>();
// Defines the function that installs a list of operators: as torch declares them, or forward declarations, which
// stay without a definition, where a release of torch lacks them.
#define INSTALLS(function, OPERATORS)                        \
  namespace at::_ops { OPERATORS(DECLARE_OPERATOR) }         \
  namespace software { void function() { OPERATORS(INSTALL_OPERATOR) } }
