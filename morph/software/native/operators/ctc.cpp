// cuDNN's CTC loss, which torch chooses on CUDA for short int32 targets on the host, computed by torch's own.
#include "operators/kernels.h"
#include "operators/operators.h"

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/_ctc_loss.h>
#include <ATen/ops/_ctc_loss_backward.h>
#include <ATen/ops/ones_like.h>

namespace software {
namespace {

using at::IntArrayRef;
using at::Tensor;

constexpr int64_t kLongest = 256;  // cuDNN takes shorter targets

bool fits(const Tensor& log_probs, const Tensor& targets, int64_t blank) {
  return at::globalContext().userEnabledCuDNN() && blank == 0 && targets.dim() == 1 && log_probs.dim() == 3 &&
         log_probs.scalar_type() == at::kFloat && targets.scalar_type() == at::kInt && targets.is_contiguous();
}

bool short_enough(IntArrayRef input_lengths, IntArrayRef target_lengths) {
  return std::equal(input_lengths.begin(), input_lengths.end(), target_lengths.begin(), target_lengths.end(),
                    [](int64_t input, int64_t target) { return target < kLongest && target <= input; });
}

bool use(const Tensor& log_probs, const Tensor& targets, IntArrayRef input_lengths, IntArrayRef target_lengths,
         int64_t blank) {
  auto whole = [&](int64_t length) { return length == log_probs.size(0); };
  return fits(log_probs, targets, blank) && targets.is_cpu() && short_enough(input_lengths, target_lengths) &&
         std::all_of(input_lengths.begin(), input_lengths.end(), whole);
}

std::vector<int64_t> numbers(const Tensor& lengths) {
  Tensor host = lengths.to(at::kCPU, at::kLong).contiguous();
  return {host.const_data_ptr<int64_t>(), host.const_data_ptr<int64_t>() + host.numel()};
}

bool use_by_tensors(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                    const Tensor& target_lengths, int64_t blank) {
  bool lengths_fit = input_lengths.scalar_type() == at::kInt && target_lengths.scalar_type() == at::kInt &&
                     !input_lengths.is_cpu() && !target_lengths.is_cpu();
  return fits(log_probs, targets, blank) && lengths_fit && short_enough(numbers(input_lengths), numbers(target_lengths));
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

void never(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  torch::jit::drop(*stack, op.schema().arguments().size());
  torch::jit::push(*stack, false);
}

}  // namespace

KERNELS_OF_CUDA(ctc, library) {
  boxed<&never>(library, {"_use_miopen_ctc_loss", "_use_miopen_ctc_loss.Tensor"});
  library.impl("_use_cudnn_ctc_loss", &use);
  library.impl("_use_cudnn_ctc_loss.Tensor", &use_by_tensors);
  library.impl("_cudnn_ctc_loss", &loss);
  library.impl("_cudnn_ctc_loss.Tensor", &loss_by_tensors);
}

}  // namespace software
