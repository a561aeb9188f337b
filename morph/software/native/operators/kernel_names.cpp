// The names that CUDA's kernels give to AT_DISPATCH, where the CPU's kernel for the same operator has another.
#include "operators/call.h"

#include <unordered_map>

namespace software {
namespace {

// Recorded from torch 2.11.0 for CUDA 13.0 on an H100, with the samples of torch's database of operators; what these have
// no types for (float8, uint16) is read in torch's sources.
const std::unordered_map<std::string_view, std::string_view> NAMES = {
    {"GeluKernelImpl", "GeluCUDAKernelImpl"}, {"_segment_reduce_cpu", "segment_reduce_cuda"},
    {"add_stub", "ufunc_add_CUDA"}, {"adaptive_avg_pool2d", "adaptive_avg_pool2d_cuda"},
    {"adaptive_max_pool2d", "adaptive_max_pool2d_cuda"}, {"addcmul_cpu_out", "addcmul_cuda"},
    {"addmm_impl_cpu_", "addmm_cuda"}, {"avg_pool2d", "avg_pool2d_out_cuda_frame"},
    {"avg_pool3d_out_frame", "avg_pool3d_out_cuda"},
    {"baddbmm", "baddbmm_cuda"}, {"batch_norm", "batch_norm_stats_cuda"},
    {"bernoulli_scalar_cpu_", "bernoulli_scalar_cuda_"}, {"binary_cross_entropy", "binary_cross_entropy_out_cuda"},
    {"bmm", "baddbmm_cuda"}, {"compute_index_ranges_weights", "upsample_bilinear2d_out_frame"},
    {"compute_indices_weights_cubic", "upsample_bicubic2d_out_frame"},
    {"compute_indices_weights_linear", "upsample_linear1d_out_frame"},
    {"compute_indices_weights_nearest", "upsample_nearest1d_out_frame"}, {"cross", "cross_cuda"},
    {"cumprod_out_cpu", "cumprod_cuda"}, {"cumsum_out_cpu", "cumsum_cuda"}, {"digamma", "digamma_cuda"},
    {"div_cpu", "div_true_cuda"}, {"exp2", "exp2_cuda"},
    {"fractional_max_pool2d_out_frame", "fractional_max_pool2d_out_cuda_frame"},
    {"ge_cpu", "compare_cuda"}, {"grid_sampler3d_cpu", "grid_sampler_3d_cuda"},
    {"grid_sampler_2d_cpu_kernel_impl", "grid_sampler_2d_cuda"}, {"gt_cpu", "compare_cuda"},
    {"index_func_", "index_reduce"},
    {"index_reduce_func_exclude_input_init", "index_reduce_func_cuda_exclude_input_init"},
    {"le_cpu", "compare_cuda"}, {"lerp_kernel_scalar", "lerp_cuda"},
    {"log_sigmoid_cpu", "log_sigmoid_forward_cuda"}, {"log_softmax_kernel_impl", "host_softmax"},
    {"log_softmax_lastdim_kernel_impl", "host_softmax"}, {"logcumsumexp_out_cpu", "logcumsumexp_cuda"},
    {"lt_cpu", "compare_cuda"}, {"lu_cpu", "lu_factor_cusolver"}, {"masked_fill", "masked_fill_"},
    {"masked_scatter", "masked_scatter_"},
    {"max_all", "max_all_cuda"}, {"max_pool2d", "max_pool2d_with_indices_out_cuda_frame"},
    {"max_pool3d", "max_pool3d_with_indices_out_frame"}, {"maximum_cpu", "max_elementwise_cuda"},
    {"median_out", "median_out_impl"}, {"min_all", "min_all_cuda"}, {"minimum_cpu", "min_elementwise_cuda"},
    {"mode_cpu", "cuda_mode"}, {"mul_cpu_reduced_float", "mul_cuda"}, {"nonzero_count_cpu", "nonzero_cuda"},
    {"multi_margin_loss_cpu_kernel", "multi_margin_loss_cuda"},
    {"multilabel_margin_loss_forward_out_frame", "multilabel_margin_loss_forward_kernel"},
    {"nll_loss_out_frame", "nll_loss_forward_no_reduce_cuda_kernel"}, {"polygamma", "polygamma_cuda"},
    {"pow", "pow_cuda"}, {"reflection_pad1d", "reflection_pad1d_out"},
    {"replication_pad1d", "replication_pad1d_cuda"}, {"replication_pad2d", "replication_pad2d_cuda"},
    {"rms_norm", "LayerNormKernelImpl"}, {"sorting_kernel_method_name", "sortKeyValueInplace"},
    {"topk_cpu", "topk_out_cuda"},
    {"scatter_gather_tensor_cpu_reduce_amax", "cuda_scatter_gather_base_kernel_func"},
    {"scatter_gather_tensor_cpu_reduce_amin", "cuda_scatter_gather_base_kernel_func"},
    {"scatter_gather_tensor_cpu_reduce_mean", "cuda_scatter_gather_base_kernel_func"},
    {"softmax_kernel_impl", "host_softmax"}, {"softmax_lastdim_kernel_impl", "host_softmax"},
    {"trigamma", "trigamma_cuda"}, {"tril_indices", "tril_indices_cuda"}, {"triu_indices", "triu_indices_cuda"},
    {"upsample_bilinear2d_channels_last", "upsample_bilinear2d_out_frame"},
};

constexpr std::string_view BEHIND = "\" not implemented for '";

std::string without(std::string_view name, std::string_view suffix) {
  bool has = name.size() > suffix.size() && name.substr(name.size() - suffix.size()) == suffix;
  return std::string(has ? name.substr(0, name.size() - suffix.size()) : std::string_view());
}

std::string name_on_cuda(std::string_view name) {
  auto found = NAMES.find(name);
  if (found != NAMES.end()) return std::string(found->second);
  for (std::string_view suffix : {"_vml_cpu", "_cpu"})
    if (std::string stem = without(name, suffix); !stem.empty()) return stem + "_cuda";
  return std::string(name);
}

}  // namespace

void refuse_in_cudas_words(const std::exception& error) {
  auto* torchs = dynamic_cast<const c10::Error*>(&error);
  if (!torchs || settings().type != c10::DeviceType::CUDA) return;
  std::string_view said = torchs->what_without_backtrace();
  size_t end = said.find(BEHIND);
  if (said.empty() || said[0] != '"' || end == said.npos) return;
  std::string words = c10::str('"', name_on_cuda(said.substr(1, end - 1)), said.substr(end));
  // of the same type: in older releases of torch a plain error
  TORCH_CHECK_NOT_IMPLEMENTED(!dynamic_cast<const c10::NotImplementedError*>(torchs), words);
  TORCH_CHECK(false, words);
}

}  // namespace software
