// cuDNN's CTC loss, which torch chooses on CUDA for short targets of int32 on the host, by torch's own.
#include "device.h"
#include "operators.h"

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/_ctc_loss.h>
#include <ATen/ops/_ctc_loss_backward.h>
#include <ATen/ops/ones_like.h>
#include <torch/library.h>

namespace software {
namespace {

using at::IntArrayRef;
using at::Tensor;

constexpr int64_t kLongest = 256;  // cuDNN takes shorter targets

bool use(const Tensor& log_probs, const Tensor& targets, IntArrayRef input_lengths, IntArrayRef target_lengths,
         int64_t blank) {
  bool fits = at::globalContext().userEnabledCuDNN() && blank == 0 && targets.dim() == 1 && log_probs.dim() == 3 &&
              log_probs.scalar_type() == at::kFloat && targets.scalar_type() == at::kInt && targets.is_cpu();
  auto whole = [&](int64_t length) { return length == log_probs.size(0); };
  auto short_enough = [](int64_t length) { return length < kLongest; };
  return fits && std::all_of(input_lengths.begin(), input_lengths.end(), whole) &&
         std::all_of(target_lengths.begin(), target_lengths.end(), short_enough) &&
         std::equal(input_lengths.begin(), input_lengths.end(), target_lengths.begin(), target_lengths.end(),
                    [](int64_t input, int64_t target) { return target <= input; });
}

std::vector<int64_t> numbers(const Tensor& lengths) {
  Tensor host = lengths.to(at::kCPU, at::kLong).contiguous();
  return {host.const_data_ptr<int64_t>(), host.const_data_ptr<int64_t>() + host.numel()};
}

bool use_by_tensors(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                    const Tensor& target_lengths, int64_t blank) {
  return use(log_probs, targets, numbers(input_lengths), numbers(target_lengths), blank);
}

std::tuple<Tensor, Tensor> loss(const Tensor& log_probs, const Tensor& targets, IntArrayRef input_lengths,
                                IntArrayRef target_lengths, int64_t blank, bool, bool zero_infinity) {
  Tensor there = targets.to(log_probs.device(), at::kLong);
  auto [losses, alphas] = at::_ctc_loss(log_probs, there, input_lengths, target_lengths, blank, zero_infinity);
  Tensor gradient = at::_ctc_loss_backward(at::ones_like(losses), log_probs, there, input_lengths, target_lengths,
                                           losses, alphas, blank, zero_infinity);
  return {losses, gradient};
}

std::tuple<Tensor, Tensor> loss_by_tensors(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                                           const Tensor& target_lengths, int64_t blank, bool deterministic,
                                           bool zero_infinity) {
  return loss(log_probs, targets, numbers(input_lengths), numbers(target_lengths), blank, deterministic, zero_infinity);
}

}  // namespace

void install_ctc() {
  if (settings().type != c10::DeviceType::CUDA) return;
  static torch::Library library(torch::Library::IMPL, "aten", backend_key(), __FILE__, __LINE__);
  library.impl("_use_cudnn_ctc_loss", &use);
  library.impl("_use_cudnn_ctc_loss.Tensor", &use_by_tensors);
  library.impl("_cudnn_ctc_loss", &loss);
  library.impl("_cudnn_ctc_loss.Tensor", &loss_by_tensors);
}

}  // namespace software
