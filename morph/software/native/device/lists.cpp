// The operators on lists in a profile: CUDA computes many tensors in one kernel where they are alike, and one by one
// where they are not (ATen/native/ForeachUtils.h and ATen/native/cuda/Foreach*.cu).
#include "device/activities.h"

#include <ATen/core/ivalue.h>
#include <ATen/native/ForeachUtils.h>
#include <ATen/record_function.h>

#include <set>

namespace software {
namespace {

using at::Tensor;
using Names = std::set<std::string_view>;

// whose results for integers are floating-point numbers, or that have no kernel for integers; pow of a number has one
const Names& of_floats() {
  static const Names names{
      "acos", "addcdiv", "addcmul", "asin", "atan", "clamp_max", "clamp_min", "cos", "cosh", "div", "erf", "erfc", "exp",
      "expm1", "ceil", "floor", "frac", "lerp", "lgamma", "log", "log10", "log1p", "log2", "maximum", "minimum", "norm",
      "pow", "round", "reciprocal", "rsqrt", "sigmoid", "sign", "sin", "sinh", "sqrt", "tan", "tanh", "trunc"};
  return names;
}

std::string_view plain(std::string_view name) {  // of "aten::_foreach_add_"
  name.remove_prefix(sizeof "aten::_foreach_" - 1);
  return name.substr(0, name.find_last_not_of('_') + 1);
}

struct Lists {
  std::vector<std::vector<Tensor>> tensors;
  std::vector<c10::Scalar> scalars;
  bool alike = true;  // a tensor for all lists is of their type
  bool begins_with_number = false;

  void add(const c10::IValue& value) {
    if (value.isTensorList()) tensors.push_back(value.toTensorVector());
    else if (value.isScalar() && scalars.empty())  // a dtype, which is a number too, comes last
      scalars = {value.toScalar()}, begins_with_number = tensors.empty();
    else if (value.isTensor()) alike &= value.toTensor().dim() || value.toTensor().scalar_type() == type();
    else if (value.isList())
      for (const c10::IValue& each : value.toListRef())
        if (each.isScalar()) scalars.push_back(each.toScalar());
  }
  at::ScalarType type() const { return tensors.empty() ? at::ScalarType::Undefined : tensors[0][0].scalar_type(); }
  bool any(bool (*fits)(const Tensor&)) const { return std::any_of(tensors[0].begin(), tensors[0].end(), fits); }
};

bool is_a_norm_of_cudas(const std::vector<c10::Scalar>& order) {
  double p = order.empty() ? 2 : order[0].toDouble();
  return p == 1 || p == 2 || p == std::numeric_limits<double>::infinity();
}

bool in_one_kernel(std::string_view name, const Lists& lists) {
  if (lists.tensors.empty() || lists.tensors[0].empty() || !lists.alike) return false;
  const Tensor& first = lists.tensors[0][0];
  if (first.device().type() != settings().type || !lists.any([](const Tensor& each) { return each.numel() > 0; }))
    return false;
  bool of_integers = lists.any([](const Tensor& each) { return at::isIntegralType(each.scalar_type(), true); });
  if (of_integers && of_floats().count(name) && !lists.begins_with_number) return false;
  if ((name == "abs" || name == "norm") && first.is_complex()) return false;
  std::vector<at::TensorList> views(lists.tensors.begin(), lists.tensors.end());
  for (at::TensorList view : views)
    if (view.size() != views[0].size()) return false;
  if (name == "norm") return is_a_norm_of_cudas(lists.scalars) && at::native::can_use_fast_route(views);
  if (name == "copy")  // from one type to another too
    return at::native::can_use_fast_route({views[0]}) && at::native::can_use_fast_route({views.back()}) &&
           at::native::_check_tensors_share_sizes_and_strides(views);
  return at::native::can_use_fast_route(views, lists.scalars);
}

struct ListOperator : at::ObserverContext {
  int64_t began = trace_time();
};

std::unique_ptr<at::ObserverContext> begin_list_operator(const at::RecordFunction& called) {
  std::string_view name = called.name();
  if (name.rfind("aten::_foreach_", 0) != 0) return nullptr;
  Lists lists;
  for (const c10::IValue& value : called.inputs()) lists.add(value);
  if (!in_one_kernel(plain(name), lists)) return nullptr;
  in_list_kernel = true;
  return std::make_unique<ListOperator>();
}

void end_list_operator(const at::RecordFunction& called, at::ObserverContext* running) {
  if (!running) return;
  in_list_kernel = false;
  std::string name = c10::str("multi_tensor_apply_kernel<", plain(called.name()), ">");
  record_work(Activity::kKernel, std::move(name), current_stream(current_device()), static_cast<ListOperator*>(running)->began);
}

std::optional<at::CallbackHandle> watching;

}  // namespace

void watch_list_operators(bool wanted) {
  if (wanted && !watching) {
    auto callback = at::RecordFunctionCallback(&begin_list_operator, &end_list_operator).needsInputs(true).scopes({at::RecordScope::FUNCTION});
    watching = at::addGlobalCallback(std::move(callback));
  } else if (!wanted && watching) {
    at::removeCallback(*watching);
    watching.reset();
  }
}

}  // namespace software
