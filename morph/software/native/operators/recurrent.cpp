// Recurrent networks: cuDNN's rule for their gradients, and the CPU's fused layer.
#include "operators/call.h"
#include "operators/kernels.h"
#include "operators/operators.h"

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <ATen/native/RNN.h>
#include <ATen/ops/gru_native.h>
#include <ATen/ops/lstm_native.h>
#include <ATen/ops/rnn_relu_native.h>
#include <ATen/ops/rnn_tanh_native.h>
#include <ATen/FuncTorchTLS.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/functions/utils.h>

namespace software {
namespace {

using at::Tensor;
using at::TensorList;
using torch::autograd::variable_list;

using Layers = std::tuple<Tensor, Tensor, Tensor>;
using Fused = at::native::lstm_mkldnn_stub_DECLARE_DISPATCH_type;  // one function for all processors

// Whether the CPU uses oneDNN's fused layer, which has a derivative of its own; autocast casts in the unfused cells.
bool fused_on_host(const Tensor& input, at::TensorList hidden, at::TensorList parameters) {
  auto fits = [](const Tensor& tensor) { return on_device(tensor) && tensor.scalar_type() == at::kFloat; };
  if (at::autocast::is_autocast_enabled(settings().type)) return false;
  return Fused::DEFAULT && at::globalContext().userEnabledMkldnn() && hidden.size() == 2 && fits(input) && input.numel() != 0 &&
         std::all_of(hidden.begin(), hidden.end(), fits) && std::all_of(parameters.begin(), parameters.end(), fits) &&
         !hidden[0].unsafeGetTensorImpl()->has_symbolic_sizes_strides() && hidden[0].size(2) == hidden[1].size(2);
}

Layers lstm(const Tensor& input, at::TensorList hidden, at::TensorList parameters, bool biases, int64_t layers,
            double dropout, bool train, bool bidirectional, bool batch_first) {
  if (!fused_on_host(input, hidden, parameters))
    return at::native::lstm(input, hidden, parameters, biases, layers, dropout, train, bidirectional, batch_first);
  Tensor output, last, cells;
  Fused::DEFAULT(output, last, cells, input, hidden, parameters, biases, layers, dropout, train, bidirectional,
                 batch_first);
  return {output, last, cells};
}

// at::native::cudnn_is_acceptable, which is false in a torch without cuDNN
bool is_cudnns(const Tensor& input) {
  bool floating = at::isFloatingType(input.scalar_type());
  return settings().type == c10::DeviceType::CUDA && at::globalContext().userEnabledCuDNN() && on_device(input) &&
         floating && input.sym_numel() != 0;
}

// The node of a network's results in the graph of gradients; the unfused layers, which compute them, are behind it.
struct CudnnRnnBackward final : torch::autograd::Node {
  CudnnRnnBackward(bool train, torch::autograd::edge_list&& next) : Node(std::move(next)), train_(train) {}
  std::string name() const override { return "CudnnRnnBackward0"; }
  variable_list apply(variable_list&& gradients) override {
    TORCH_CHECK(train_, "cudnn RNN backward can only be called in training mode");
    return std::move(gradients);
  }

 private:
  bool train_;
};

using NodePointer = decltype(torch::autograd::Edge::function);  // since torch 2.13 not std::shared_ptr

template <class Pointer>
Pointer owner(torch::autograd::Node* node) {
  if constexpr (std::is_same_v<Pointer, std::shared_ptr<torch::autograd::Node>>) return Pointer(node);
  else return Pointer::unsafe_steal_from_new(node);
}

template <class Result>
Result with_cudnns_node(const Result& result, bool train) {
  auto join = [&](const auto&... each) -> Result {
    if (!torch::autograd::compute_requires_grad(each...)) return result;
    auto node = owner<NodePointer>(new CudnnRnnBackward(train, torch::autograd::collect_next_edges(each...)));
    Result named{each.detach()...};
    std::apply([&](auto&... of_node) { (torch::autograd::set_history(of_node, node), ...); }, named);
    return named;
  };
  return std::apply(join, result);
}

void ensure_contiguous(const Tensor& hidden) { TORCH_CHECK(hidden.is_contiguous(), "rnn: hx is not contiguous"); }
void ensure_contiguous(TensorList hidden) {
  ensure_contiguous(hidden[0]);
  TORCH_CHECK(hidden.size() < 2 || hidden[1].is_contiguous(), "rnn: cx is not contiguous");
}

// Gradients of cuDNN's networks have no derivative.
struct Underivable : torch::autograd::Function<Underivable> {
  static Tensor forward(torch::autograd::AutogradContext*, const Tensor& gradient) { return gradient; }
  static variable_list backward(torch::autograd::AutogradContext*, const variable_list&) {
    TORCH_CHECK_NOT_IMPLEMENTED(
        false, "the derivative for '_cudnn_rnn_backward' is not implemented. Double backwards is not supported for CuDNN "
        "RNNs due to limitations in the CuDNN API. To run double backwards, please disable the CuDNN backend temporarily "
        "while running the forward pass of your RNN: with torch.backends.cudnn.flags(enabled=False)");
  }
};
struct DerivableOnce : torch::autograd::Function<DerivableOnce> {
  static Tensor forward(torch::autograd::AutogradContext*, const Tensor& given) { return given; }
  static variable_list backward(torch::autograd::AutogradContext*, const variable_list& gradients) {
    bool again = at::GradMode::is_enabled() && gradients[0].defined() && gradients[0].requires_grad();
    return {again ? Underivable::apply(gradients[0]) : gradients[0]};
  }
};

Tensor once(const Tensor& given) { return given.requires_grad() ? DerivableOnce::apply(given) : given; }
std::vector<Tensor> once(TensorList given) {
  std::vector<Tensor> all;
  for (const Tensor& each : given) all.push_back(once(each));
  return all;
}
template <class Other>
const Other& once(const Other& other) {
  return other;
}

// Under autocast cuDNN's networks are of float16, whatever type it has.
Tensor halved(const Tensor& given) { return at::autocast::cached_cast(at::kHalf, given, settings().type); }
std::vector<Tensor> halved(TensorList given) {
  std::vector<Tensor> all;
  for (const Tensor& each : given) all.push_back(halved(each));
  return all;
}
template <class Other>
const Other& halved(const Other& other) {
  return other;
}

// Transforms of torch.func, once used, leave their state; within one, autograd functions in C++ are refused.
bool takes_functions() {
  const auto& transforms = at::functorch::functorchTLSAccessor();
  if (!transforms) return true;
  try {
    transforms->checkSupportsCppAutogradFunction();
    return true;
  } catch (const c10::Error&) {
    return false;
  }
}

// A network of cuDNN's, whose results are differentiated once, and in training only; `train` is the place of that
// argument, and `hidden` that of its state.
template <auto function, size_t train, size_t hidden>
struct Recurrent;

template <class Result, class... Arguments, Result (*function)(Arguments...), size_t train, size_t hidden>
struct Recurrent<function, train, hidden> {
  static Result call(Arguments... arguments) {
    auto given = std::tie(arguments...);
    if (!is_cudnns(std::get<0>(given))) return function(arguments...);
    if (at::autocast::is_autocast_enabled(settings().type)) {
      auto key = at::autocast::get_autocast_dispatch_key_from_device_type(settings().type);
      c10::impl::ExcludeDispatchKeyGuard casted(key);
      return call(halved(arguments)...);
    }
    ensure_contiguous(std::get<hidden>(given));
    if (!at::GradMode::is_enabled() || !takes_functions()) return function(arguments...);
    return with_cudnns_node(function(once(arguments)...), std::get<train>(given));
  }
};

using Pair = std::tuple<Tensor, Tensor>;
using OfInput = Pair (*)(const Tensor&, const Tensor&, TensorList, bool, int64_t, double, bool, bool, bool);
using OfPacked = Pair (*)(const Tensor&, const Tensor&, const Tensor&, TensorList, bool, int64_t, double, bool, bool);
using LayersOfPacked = Layers (*)(const Tensor&, const Tensor&, TensorList, TensorList, bool, int64_t, double, bool, bool);

constexpr size_t TRAIN = 6, TRAIN_OF_PACKED = 7, HIDDEN = 1, HIDDEN_OF_PACKED = 2;

void install(torch::Library& library) {
  library.impl("lstm.input", &Recurrent<&lstm, TRAIN, HIDDEN>::call);
  library.impl("lstm.data", &Recurrent<LayersOfPacked(&at::native::lstm), TRAIN_OF_PACKED, HIDDEN_OF_PACKED>::call);
  library.impl("gru.input", &Recurrent<OfInput(&at::native::gru), TRAIN, HIDDEN>::call);
  library.impl("gru.data", &Recurrent<OfPacked(&at::native::gru), TRAIN_OF_PACKED, HIDDEN_OF_PACKED>::call);
  library.impl("rnn_tanh.input", &Recurrent<OfInput(&at::native::rnn_tanh), TRAIN, HIDDEN>::call);
  library.impl("rnn_tanh.data", &Recurrent<OfPacked(&at::native::rnn_tanh), TRAIN_OF_PACKED, HIDDEN_OF_PACKED>::call);
  library.impl("rnn_relu.input", &Recurrent<OfInput(&at::native::rnn_relu), TRAIN, HIDDEN>::call);
  library.impl("rnn_relu.data", &Recurrent<OfPacked(&at::native::rnn_relu), TRAIN_OF_PACKED, HIDDEN_OF_PACKED>::call);
}

}  // namespace

void install_recurrent_networks() {
  for (auto key : {backend_key(), autograd_key()})
    install(library_for(key));
}

}  // namespace software
