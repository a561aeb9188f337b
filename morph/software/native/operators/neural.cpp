// Operators that torch has only for each device type: convolution, and the cells of recurrent networks.
#include "operators/halves.h"
#include "operators/kernels.h"
#include "operators/unboxed.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/_convolution.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros_like.h>

namespace software {
namespace {

using at::IntArrayRef;
using at::Tensor;
using Optional = std::optional<Tensor>;

// As cudnn_conv_suggest_memory_format in ATen/native/ConvUtils.h; which format the CPU's kernels give depends on sizes.
at::MemoryFormat cudnns_format(const Tensor& input, const Tensor& weight) {
  auto format = at::MemoryFormat::Contiguous;
  bool wide = input.scalar_type() == at::kDouble || weight.scalar_type() == at::kDouble;
  if (wide || !settings().channels_last) return format;
  for (const Tensor* each : {&input, &weight})
    if (format == at::MemoryFormat::Contiguous) format = each->suggest_memory_format();
  return format;
}

Optional optional_to_single(const Optional& tensor) { return tensor ? Optional(to_single(*tensor)) : tensor; }

Tensor convolution_of_half(const Tensor& input, const Tensor& weight, const Optional& bias, IntArrayRef stride,
                           IntArrayRef padding, IntArrayRef dilation, bool transposed, IntArrayRef output_padding,
                           int64_t groups) {
  return to_half(at::convolution(to_single(input), to_single(weight), optional_to_single(bias), stride, padding,
                                 dilation, transposed, output_padding, groups));
}

// torch's `convolution` calls it, and torch.jit.trace records it.
Tensor any_convolution(const Tensor& input, const Tensor& weight, const Optional& bias, IntArrayRef stride,
                       IntArrayRef padding, IntArrayRef dilation, bool transposed, IntArrayRef output_padding,
                       int64_t groups, bool benchmark, bool deterministic, bool cudnn, bool allow_tf32) {
  Tensor result = is_slow_half(input)
                      ? convolution_of_half(input, weight, bias, stride, padding, dilation, transposed,
                                            output_padding, groups)
                      : at::_convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding,
                                         groups, benchmark, deterministic, cudnn, allow_tf32);
  return cudnn ? result.contiguous(cudnns_format(input, weight)) : result;
}

// Before it chooses a library, torch compares the kinds of tensors, as it calls device and dtype.
Tensor convolution_of_one_type(const Tensor& input, const Tensor& weight, const Optional& bias, IntArrayRef stride,
                               IntArrayRef padding, IntArrayRef dilation, bool transposed, IntArrayRef output_padding,
                               int64_t groups, bool benchmark, bool deterministic, bool cudnn, bool allow_tf32) {
  auto check = [&input](const char* what, const Tensor& other) {
    TORCH_CHECK(input.options().type_equal(other.options()), "Input type (", input.toString(), ") and ", what, " type (",
                other.toString(), ") should be the same");
  };
  if (!input.is_cpu()) {
    check("weight", weight);
    if (bias && bias->defined()) check("bias", *bias);
  }
  return OnHost<"aten::_convolution", &any_convolution>::call(
      input, weight, bias, stride, padding, dilation, transposed, output_padding, groups, benchmark, deterministic,
      cudnn, allow_tf32);
}

Tensor convolution(const Tensor& input, const Tensor& weight, const Optional& bias, IntArrayRef stride,
                   IntArrayRef padding, IntArrayRef dilation, bool transposed, IntArrayRef output_padding,
                   int64_t groups) {
  return at::convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups);
}

std::tuple<Tensor, Tensor, Tensor> convolution_backward_of_half(
    const Tensor& gradient, const Tensor& input, const Tensor& weight, at::OptionalIntArrayRef bias, IntArrayRef stride,
    IntArrayRef padding, IntArrayRef dilation, bool transposed, IntArrayRef output_padding, int64_t groups,
    std::array<bool, 3> wanted) {
  bool is_wide = is_slow_half(input);
  auto widened = [is_wide](const Tensor& each) { return is_wide ? to_single(each) : each; };
  auto [of_input, of_weight, of_bias] =
      at::convolution_backward(widened(gradient), widened(input), widened(weight), bias, stride, padding, dilation,
                               transposed, output_padding, groups, wanted);
  if (!is_wide) return {of_input, of_weight, of_bias};
  return {to_half(of_input), to_half(of_weight), to_half(of_bias)};
}

std::tuple<Tensor, Tensor, Tensor> convolution_backward(const Tensor& gradient, const Tensor& input,
                                                        const Tensor& weight, IntArrayRef stride, IntArrayRef padding,
                                                        IntArrayRef dilation, bool transposed,
                                                        IntArrayRef output_padding, int64_t groups,
                                                        std::array<bool, 3> wanted) {
  int64_t channels = transposed ? weight.size(1) * groups : weight.size(0);
  return at::convolution_backward(gradient, input, weight, IntArrayRef{channels}, stride, padding, dilation,
                                  transposed, output_padding, groups, wanted);
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

// The CPU's operator draws from the default generator.
std::tuple<Tensor, Tensor> dropped(const Tensor& input, double probability, const std::optional<at::Generator>& generator) {
  double kept = 1 - probability;
  Tensor mask = at::empty_like(input, at::kBool).bernoulli_(kept, generator);
  return {input.mul(mask).mul_(kept == 0 ? 0 : 1 / kept), mask};
}

std::tuple<Tensor, Tensor> native_dropout(const Tensor& input, double probability, std::optional<bool> train) {
  if (!train.value_or(true)) return {input.clone(), at::ones_like(input, at::kBool)};
  if (input.numel() == 0) return {input.clone(), at::empty_like(input, at::kBool)};
  static const Traits& own = traits("aten::native_dropout");
  Call call("aten::native_dropout", own, 1);
  std::optional<at::Generator> devices;
  return computed_on_host(call, &dropped, input, probability, devices);
}

}  // namespace

void install_neural_operators() {
  torch::Library& library = library_for(backend_key());
  if (halves_are_slow()) on_host<"aten::convolution_backward", &convolution_backward_of_half>(library);
  install_unboxed<at::_ops::convolution_backward>();
  library.impl("_convolution", &convolution_of_one_type);
  on_host<"aten::convolution_overrideable", &convolution>(library);
  on_host<"aten::convolution_backward_overrideable", &convolution_backward>(library);
  on_host<"aten::_thnn_fused_lstm_cell", &lstm_cell>(library);
  on_host<"aten::_thnn_fused_lstm_cell_backward_impl", &lstm_cell_backward>(library);
  on_host<"aten::_thnn_fused_gru_cell", &gru_cell>(library);
  on_host<"aten::_thnn_fused_gru_cell_backward", &gru_cell_backward>(library);
  library.impl("native_dropout", &native_dropout);
}

}  // namespace software
