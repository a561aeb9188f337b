// The operators that torch leaves to a device of its own kind: convolution, and the cells of recurrent networks.
#include "device.h"
#include "host_view.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/zeros_like.h>
#include <torch/library.h>

namespace software {
namespace {

using at::IntArrayRef;
using at::Tensor;
using Optional = std::optional<Tensor>;

Optional host_view(const Optional& tensor) {
  return tensor && tensor->defined() ? Optional(software::host_view(*tensor)) : std::nullopt;
}

Tensor convolution(const Tensor& input, const Tensor& weight, const Optional& bias, IntArrayRef stride,
                   IntArrayRef padding, IntArrayRef dilation, bool transposed, IntArrayRef output_padding,
                   int64_t groups) {
  Tensor result = at::convolution(software::host_view(input), software::host_view(weight), host_view(bias), stride,
                                  padding, dilation, transposed, output_padding, groups);
  return to_device(result, input.device());
}

std::tuple<Tensor, Tensor, Tensor> convolution_backward(const Tensor& gradient, const Tensor& input,
                                                        const Tensor& weight, IntArrayRef stride, IntArrayRef padding,
                                                        IntArrayRef dilation, bool transposed,
                                                        IntArrayRef output_padding, int64_t groups,
                                                        std::array<bool, 3> wanted) {
  int64_t channels = transposed ? weight.size(1) * groups : weight.size(0);
  auto [input_gradient, weight_gradient, bias_gradient] = at::convolution_backward(
      software::host_view(gradient), software::host_view(input), software::host_view(weight), IntArrayRef{channels},
      stride, padding, dilation, transposed, output_padding, groups, wanted);
  c10::Device target = input.device();
  return {to_device(input_gradient, target), to_device(weight_gradient, target), to_device(bias_gradient, target)};
}

std::tuple<Tensor, Tensor, Tensor> whole_convolution_backward(
    const Tensor& gradient, const Tensor& input, const Tensor& weight, at::OptionalIntArrayRef, IntArrayRef stride,
    IntArrayRef padding, IntArrayRef dilation, bool transposed, IntArrayRef output_padding, int64_t groups,
    std::array<bool, 3> wanted) {
  return convolution_backward(gradient, input, weight, stride, padding, dilation, transposed, output_padding, groups,
                              wanted);
}

Tensor biased(const Tensor& gates, const Optional& bias) {
  return bias && bias->defined() ? gates + *bias : gates;
}

std::tuple<Tensor, Tensor, Tensor> lstm_cell(const Tensor& input_gates, const Tensor& hidden_gates, const Tensor& cell,
                                             const Optional& input_bias, const Optional& hidden_bias) {
  auto parts = (biased(input_gates, input_bias) + biased(hidden_gates, hidden_bias)).chunk(4, 1);
  Tensor in = parts[0].sigmoid(), forget = parts[1].sigmoid(), fresh = parts[2].tanh(), out = parts[3].sigmoid();
  Tensor next = forget * cell + in * fresh;
  return {out * next.tanh(), next, at::cat({in, forget, fresh, out}, 1)};
}

std::tuple<Tensor, Tensor, Tensor> lstm_cell_backward(const Optional& hidden_gradient, const Optional& cell_gradient,
                                                      const Tensor& cell, const Tensor& next, const Tensor& workspace,
                                                      bool has_bias) {
  auto parts = workspace.chunk(4, 1);
  const Tensor &in = parts[0], &forget = parts[1], &fresh = parts[2], &out = parts[3];
  Tensor of_hidden = hidden_gradient && hidden_gradient->defined() ? *hidden_gradient : at::zeros_like(next);
  Tensor squashed = next.tanh();
  Tensor of_next = of_hidden * out * (1 - squashed * squashed);
  if (cell_gradient && cell_gradient->defined()) of_next = of_next + *cell_gradient;
  Tensor gates = at::cat({of_next * fresh * in * (1 - in), of_next * cell * forget * (1 - forget),
                          of_next * in * (1 - fresh * fresh), of_hidden * squashed * out * (1 - out)}, 1);
  return {gates, of_next * forget, has_bias ? gates.sum(0) : Tensor()};
}

std::tuple<Tensor, Tensor> gru_cell(const Tensor& input_gates, const Tensor& hidden_gates, const Tensor& hidden,
                                    const Optional& input_bias, const Optional& hidden_bias) {
  auto from_input = biased(input_gates, input_bias).chunk(3, 1);
  auto from_hidden = biased(hidden_gates, hidden_bias).chunk(3, 1);
  Tensor reset = (from_input[0] + from_hidden[0]).sigmoid(), keep = (from_input[1] + from_hidden[1]).sigmoid();
  Tensor fresh = (from_input[2] + reset * from_hidden[2]).tanh();
  return {fresh + keep * (hidden - fresh), at::cat({reset, keep, fresh, hidden, from_hidden[2]}, 1)};
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> gru_cell_backward(const Tensor& gradient, const Tensor& workspace,
                                                                     bool has_bias) {
  auto parts = workspace.chunk(5, 1);
  const Tensor &reset = parts[0], &keep = parts[1], &fresh = parts[2], &hidden = parts[3], &from_hidden = parts[4];
  Tensor of_keep = gradient * (hidden - fresh) * (1 - keep) * keep;
  Tensor of_fresh = gradient * (1 - keep) * (1 - fresh * fresh);
  Tensor of_reset = of_fresh * from_hidden * (1 - reset) * reset;
  Tensor input_gates = at::cat({of_reset, of_keep, of_fresh}, 1);
  Tensor hidden_gates = at::cat({of_reset, of_keep, of_fresh * reset}, 1);
  return {input_gates, hidden_gates, gradient * keep, has_bias ? input_gates.sum(0) : Tensor(),
          has_bias ? hidden_gates.sum(0) : Tensor()};
}

}  // namespace

void install_neural_operators() {
  static auto* library = new torch::Library(torch::Library::IMPL, "aten", backend_key(), __FILE__, __LINE__);
  library->impl("convolution_overrideable", &convolution);
  library->impl("convolution_backward_overrideable", &convolution_backward);
  if (settings().type == c10::DeviceType::CUDA) {  // for which torch chooses among CUDA's own
    library->impl("convolution", &convolution);
    library->impl("convolution_backward", &whole_convolution_backward);
  }
  library->impl("_thnn_fused_lstm_cell", &lstm_cell);
  library->impl("_thnn_fused_lstm_cell_backward_impl", &lstm_cell_backward);
  library->impl("_thnn_fused_gru_cell", &gru_cell);
  library->impl("_thnn_fused_gru_cell_backward", &gru_cell_backward);
}

}  // namespace software
