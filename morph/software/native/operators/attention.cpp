// Attention: torch finds a device's choice of kernel in a table that only a build for the device fills.
// `torch.nn.attention.sdpa_kernel` switches the kernels, which the program meets under their names: a dispatch mode,
// DTensor's sharding strategies and policies of activation checkpointing know them.
#include "device/device.h"
#include "operators/kernels.h"
#include "operators/operators.h"

#include <ATen/native/transformers/sdp_utils_cpp.h>
#include <ATen/Context.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_nested_tensor_from_tensor_list.h>
#include <ATen/ops/_scaled_dot_product_attention_math.h>
#include <ATen/ops/_scaled_dot_product_cudnn_attention.h>
#include <ATen/ops/_scaled_dot_product_efficient_attention.h>
#include <ATen/ops/_scaled_dot_product_flash_attention.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/pad.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/scaled_dot_product_attention_native.h>
#include <ATen/ops/where.h>
#include <c10/core/impl/TorchDispatchModeTLS.h>
#include <c10/util/env.h>
#include <torch/version.h>

namespace software {
namespace {

using at::Tensor;
using sdp::sdp_params;
using AdditiveMask = std::optional<Tensor>;

void check(const sdp_params& given) {
  const auto& [query, key, value, mask, dropout, causal, grouped] = given;
  auto dtype = query.dtype();
  TORCH_CHECK(dtype == key.dtype() && dtype == value.dtype(),
              "Expected query, key, and value to have the same dtype, but got query.dtype: ", query.dtype(),
              " key.dtype: ", key.dtype(), " and value.dtype: ", value.dtype(), " instead.");
  TORCH_CHECK(query.device() == key.device() && query.device() == value.device(),
              "Expected query, key, and value to have the same device type, but got query.device: ", query.device(),
              " key.device: ", key.device(), " and value.device: ", value.device(), " instead.");
  TORCH_CHECK(query.dim() >= 2 && key.dim() >= 2 && value.dim() >= 2,
              "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: ", query.dim(),
              " key.dim: ", key.dim(), " and value.dim: ", value.dim(), " instead.");
  if (!mask) return;
  auto kind = mask->dtype();
  TORCH_CHECK(kind == at::kBool || kind == at::kFloat || kind == dtype,
              "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: ", kind,
              " and  query.dtype: ", dtype, " instead.");
}

AdditiveMask added(const AdditiveMask& mask, const Tensor& query) {
  if (!mask || mask->scalar_type() != at::kBool) return mask;
  auto on_host = query.options().device(at::kCPU);
  return at::where(*mask, at::scalar_tensor(0.0, on_host),
                   at::scalar_tensor(-std::numeric_limits<double>::infinity(), on_host));
}

constexpr std::array<at::ScalarType, 2> FLASH_TYPES{at::kHalf, at::kBFloat16};
constexpr std::array<at::ScalarType, 3> CUTLASS_TYPES{at::kHalf, at::kBFloat16, at::kFloat};
constexpr std::array<at::ScalarType, 2> CUTLASS_TYPES_BEFORE_80{at::kHalf, at::kFloat};

// By which CUTLASS reads since compute capability 8.0: 16 bytes.
bool widths_fit_cutlass(const sdp_params& given, bool debug) {
  int64_t unit = given.query.scalar_type() == at::kFloat ? 4 : 8;
  auto fits = [unit](const Tensor& each) { return each.sym_size(-1) > 0 && each.sym_size(-1) % unit == 0; };
  bool all = fits(given.query) && fits(given.value) && given.query.sym_size(-1) == given.key.sym_size(-1);
  if (!all && debug) TORCH_WARN("Mem efficient attention requires last dimension of inputs to be divisible by ", unit, ".");
  return all;
}

bool has_flash(const sdp_params& given, bool debug) {
  bool has = capability() >= 80;
  if (!has && debug)
    TORCH_WARN("Flash attention only supports gpu architectures in the range [sm80, sm121]. Attempting to run on a sm ",
               capability() / 10, ".", capability() % 10, " gpu.");
  auto width = given.query.sym_size(-1);
  bool is_small = capability() == 86 || capability() == 89, in_doubt = width > 192 && (width <= 224 || given.dropout > 0);
  bool derives = is_small && in_doubt && sdp::input_requires_grad(given);
  if (derives && debug)
    TORCH_WARN("Flash attention currently doesn't support training with head_dim ∈ (192, 224] or (head_dim ∈ (224, 256] "
               "and dropout > 0.0) on gpu architectures in the range[sm86, sm89].");
  return has && !derives;
}

bool width_fits_flash(const sdp_params& given, bool debug) {
  bool nested = sdp::has_for_nested_inputs(given);
  auto width = given.query.sym_size(-1);
  bool fits = width == given.key.sym_size(-1) && width == given.value.sym_size(-1) && width <= 256;
  fits = fits && (!nested || width % 8 == 0);
  if (!fits && debug)
    TORCH_WARN(nested ? "For NestedTensor inputs, " : "",
               "Flash attention requires q,k,v to have the same last dimension and to be ",
               nested ? "a multiple of 8 and " : "", "less than or equal to 256. Got ", width, ", ",
               given.key.sym_size(-1), ", ", given.value.sym_size(-1), " instead.");
  return fits;
}

bool is_square_if_causal(const sdp_params& given, bool debug) {
  if (sdp::has_for_nested_inputs(given)) return true;
  bool fits = !given.is_causal || given.query.sym_size(-2) == given.key.sym_size(-2);
  if (!fits && debug)
    TORCH_WARN("Flash attention does not support the is_causal flag when seqlen_q != seqlen_k. Got seqlen_q: ",
               given.query.sym_size(-2), " seqlen_k: ", given.key.sym_size(-2), ".");
  return fits;
}

bool shapes_fit(const sdp_params& given, bool debug) {
  if (!sdp::check_tensor_shapes(given, debug)) return false;
  if (sdp::has_for_nested_inputs(given))
    return sdp::check_batch_size_nested(given, debug) && sdp::check_for_seq_len_0_nested_tensor(given, debug);
  return sdp::check_last_dim_stride_equals_1_dense<true>(given, debug) &&
         sdp::check_batch_size_and_num_heads_dense<true>(given, debug) &&
         sdp::check_nonzero_sequence_lengths_dense(given, debug);
}

bool flash_takes(const sdp_params& given, bool debug) {
  if (!debug && !sdp::check_tensor_dtype(given, FLASH_TYPES, false)) return false;
  bool on_host = given.query.is_cpu();
  if (on_host && debug)
    TORCH_WARN("All tensors need to be on cuda device. Got query on device: ", given.query.device(),
               ", key on device: ", given.key.device(), ", value on device: ", given.value.device());
  return sdp::check_runtime_disabled_flash(given, debug) && !on_host && has_flash(given, debug) && shapes_fit(given, debug) &&
         sdp::check_for_attn_mask(given, debug) && sdp::check_tensor_dtype(given, FLASH_TYPES, debug) &&
         width_fits_flash(given, debug) && is_square_if_causal(given, debug);
}

bool efficient_takes(const sdp_params& given, bool debug) {
  bool nested = sdp::has_for_nested_inputs(given);
  return sdp::check_runtime_disabled_mem_efficient(given, debug) && !given.enable_gqa &&
         (!nested || sdp::check_requires_grad_and_nested(given, debug)) && shapes_fit(given, debug) &&
         (capability() < 80 ? sdp::check_tensor_dtype(given, CUTLASS_TYPES_BEFORE_80, debug)
                            : sdp::check_tensor_dtype(given, CUTLASS_TYPES, debug)) && widths_fit_cutlass(given, debug);
}

bool sizes_fit_cudnn(const sdp_params& given, bool debug) {
  auto width = given.query.sym_size(3), width_of_value = given.value.sym_size(3);
  bool is_deepseeks = capability() / 10 == 10 && width == 192 && width_of_value == 128;
  const char* problem = nullptr;
  if (capability() == 90 ? width > 256 || width_of_value > 256 : !is_deepseeks && (width > 128 || width_of_value > 128))
    problem = capability() == 90 ? "head_dim should be no more than 256" : "head_dim should be no more than 128";
  else if (width % 8 != 0 || width_of_value % 8 != 0)
    problem = "head_dim should be a multiple of 8";
  else if (given.key.sym_size(2) == 1)
    problem = "cudnn SDPA does not support key/value sequence length 1.";
  else if (given.query.sym_size(2) == 1 && given.dropout > 0)
    problem = "cudnn SDPA does not support query sequence length 1 with dropout.";
  if (problem && debug) TORCH_WARN(problem);
  return !problem;
}

bool is_order_free(bool debug) {
  const auto& context = at::globalContext();
  bool free = !context.deterministicAlgorithms() || context.deterministicAlgorithmsWarnOnly();
  if (!free && debug) TORCH_WARN("cuDNN SDPA is not deterministic.");
  return free;
}

bool cudnn_takes(const sdp_params& given, bool debug) {
  if (!debug && !sdp::check_tensor_dtype(given, FLASH_TYPES, false)) return false;
  bool enabled = at::globalContext().userEnabledCuDNNSDP();
  if (!enabled && debug) TORCH_WARN("cuDNN attention has been runtime disabled.");
  bool has = capability() >= 80;
  if (!has && debug)
    TORCH_WARN("cuDNN MHA only supports gpu architectures in the range [sm80, sm121]. Attempting to run on a sm ",
               capability() / 10, ".", capability() % 10, " gpu.");
  bool nested = sdp::has_for_nested_inputs(given);
  if (nested && debug) TORCH_WARN("Experimental cuDNN SDPA nested tensor support is not enabled.");
  bool derives_mask = given.attn_mask && given.attn_mask->requires_grad();
  if (derives_mask && debug) TORCH_WARN("cuDNN SDPA does not support a gradient of attn_mask.");
  return enabled && has && !nested && !derives_mask && shapes_fit(given, debug) && sizes_fit_cudnn(given, debug) &&
         is_order_free(debug) && sdp::check_tensor_dtype(given, FLASH_TYPES, debug);
}

using at::SDPBackend;

bool takes(SDPBackend kernel, const sdp_params& given, bool debug) {
  switch (kernel) {
    case SDPBackend::flash_attention: return flash_takes(given, debug);
    case SDPBackend::efficient_attention: return efficient_takes(given, debug);
    case SDPBackend::cudnn_attention: return cudnn_takes(given, debug);
    case SDPBackend::math: return at::globalContext().userEnabledMathSDP();
    default: return false;
  }
}

const std::vector<int64_t> kCudnnFirst{int64_t(SDPBackend::cudnn_attention), int64_t(SDPBackend::flash_attention),
                                       int64_t(SDPBackend::efficient_attention), int64_t(SDPBackend::math),
                                       int64_t(SDPBackend::overrideable)};
// torch 2.10 and later have it so, with a cuDNN after 9.15.0 (huggingface/transformers#48163).
bool prefers_cudnn() {
  bool is_one = settings().of_card == 90 || settings().of_card == 100 || settings().of_card == 103;
  return TORCH_VERSION_MINOR >= 10 && is_one && c10::utils::check_env("TORCH_CUDNN_SDPA_DEPRIORITIZED") != true;
}

SDPBackend chosen_on_cuda(const sdp_params& given) {
  for (SDPBackend each : at::globalContext().sDPPriorityOrder())
    if (takes(each, given, false)) return each;
  return SDPBackend::error;
}

[[noreturn]] void refuse(const sdp_params& given) {
  const auto& context = at::globalContext();
  bool any = context.userEnabledFlashSDP() || context.userEnabledMemEfficientSDP() || context.userEnabledCuDNNSDP();
  TORCH_CHECK(any, "No viable backend for scaled_dot_product_attention was found. ",
              "This is likely due to turning off both the math kernel and the fused kernels.");
  TORCH_WARN("Memory efficient kernel not used because:");
  efficient_takes(given, true);
  TORCH_WARN("Flash attention kernel not used because:");
  flash_takes(given, true);
  TORCH_WARN("CuDNN attention kernel not used because:");
  cudnn_takes(given, true);
  TORCH_CHECK(false, "No available kernel. Aborting execution.");
}

// The conditions under which the CPU takes its fused kernel, where none of CUDA's does. Who watches the operators sees
// those of CUDA's math.
bool fused_on_host(const sdp_params& given) {
  const auto& context = at::globalContext();
  bool wanted = context.userEnabledFlashSDP() || context.userEnabledMemEfficientSDP() || context.userEnabledCuDNNSDP();
  bool doubly_masked = given.attn_mask && given.is_causal;  // which the math refuses
  if (!wanted || doubly_masked || !shapes_fit(given, false) || given.dropout > 0) return false;
  if (!sdp::check_attn_mask_shape(given, false)) return false;
  auto width = given.query.sym_size(-1);
  // CUDA has none for float64, and its math's backward is differentiable
  bool has_kernel = given.query.is_floating_point() && given.query.scalar_type() != at::kDouble;
  return has_kernel && width == given.key.sym_size(-1) && width == given.value.sym_size(-1);
}

bool is_seen(const sdp_params& given) {
  auto by_python = [](const Tensor& tensor) { return tensor.key_set().has(c10::DispatchKey::Python); };
  return c10::impl::dispatch_mode_enabled() || by_python(given.query) || by_python(given.key) || by_python(given.value);
}

bool needs_sums(const sdp_params& given) {  // for a backward pass
  return at::GradMode::is_enabled() &&
         (given.query.requires_grad() || given.key.requires_grad() || given.value.requires_grad());
}

AdditiveMask for_each_head(const AdditiveMask& mask, const sdp_params& given) {
  if (!mask) return mask;
  return mask->expand_symint({given.query.sym_size(0), given.query.sym_size(1), given.query.sym_size(2),
                              given.key.sym_size(2)});
}

Tensor on_host(const sdp_params& given, const AdditiveMask& bias, std::optional<double> scale) {
  const auto& [query, key, value, mask, dropout, causal, grouped] = given;
  if (fused_on_host(given) && !is_seen(given))
    return std::get<0>(
        at::_scaled_dot_product_flash_attention_for_cpu(query, key, value, dropout, causal, bias, scale));
  return std::get<0>(at::_scaled_dot_product_attention_math(query, key, value, bias, dropout, causal, std::nullopt,
                                                            scale, grouped));
}

// FlashAttention's kernel reads 16 bytes of half precision.
Tensor by_flash(const sdp_params& given, std::optional<double> scale) {
  c10::SymInt width = given.query.sym_size(-1), padding = (8 - width % 8) % 8;
  auto padded = [&](const Tensor& each) { return at::pad_symint(each, {c10::SymInt(0), padding}); };
  if (padding == 0)
    return std::get<0>(at::_scaled_dot_product_flash_attention(given.query, given.key, given.value, given.dropout,
                                                               given.is_causal, false, scale));
  double of_width = scale ? *scale : 1 / std::sqrt(double(width.guard_int(__FILE__, __LINE__)));
  Tensor result = std::get<0>(at::_scaled_dot_product_flash_attention(
      padded(given.query), padded(given.key), padded(given.value), given.dropout, given.is_causal, false, of_width));
  return result.slice_symint(-1, 0, width);
}

Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value, const AdditiveMask& mask, double dropout,
                 bool causal, std::optional<double> scale, bool grouped) {
  sdp_params given{query, key, value, mask, dropout, causal, grouped};
  check(given);
  SDPBackend chosen = chosen_on_cuda(given);
  if (chosen == SDPBackend::error) refuse(given);
  AdditiveMask bias = added(mask, query);
  if (settings().type == c10::DeviceType::CUDA) {
    if (chosen == SDPBackend::flash_attention) return by_flash(given, scale);
    if (chosen == SDPBackend::efficient_attention)
      return std::get<0>(at::_scaled_dot_product_efficient_attention(
          query, key, value, for_each_head(bias, given), needs_sums(given), dropout, causal, scale));
    if (chosen == SDPBackend::cudnn_attention)
      return std::get<0>(at::_scaled_dot_product_cudnn_attention(query, key, value, bias, needs_sums(given), dropout,
                                                                 causal, false, scale));
  }
  return on_host(given, bias, scale);
}

// The part of each sequence; one for all is repeated.
Tensor part(const std::vector<Tensor>& all, size_t sequence) {
  return all[all.size() == 1 ? 0 : sequence].unsqueeze(0);
}

// What CUDA's fused kernels do with sequences of different lengths, heads and sequences in either order in memory:
// the result has its heads last, as theirs.
Tensor attention_of_nested(const Tensor& query, const Tensor& key, const Tensor& value, const AdditiveMask& mask,
                           double dropout, bool causal, std::optional<double> scale, bool grouped) {
  if (query.device().type() != settings().type)  // this dispatch key is also the host's
    return at::native::scaled_dot_product_attention(query, key, value, mask, dropout, causal, scale, grouped);
  sdp_params given{query, key, value, mask, dropout, causal, grouped};
  check(given);
  SDPBackend chosen = chosen_on_cuda(given);
  if (chosen == SDPBackend::error) refuse(given);
  if (chosen == SDPBackend::math || mask)
    return std::get<0>(at::_scaled_dot_product_attention_math(query, key, value, mask, dropout, causal, std::nullopt,
                                                              scale, grouped));
  auto queries = query.unbind(), keys = key.unbind(), values = value.unbind();
  int64_t heads = std::max({query.size(1), key.size(1), value.size(1)});
  std::vector<Tensor> results;
  for (size_t i = 0; i < std::max({queries.size(), keys.size(), values.size()}); i++) {
    auto spread = [heads](const Tensor& each) { return each.expand({-1, heads, -1, -1}); };
    Tensor own = spread(part(queries, i)), others = spread(part(keys, i));
    TORCH_CHECK_NOT_IMPLEMENTED(!causal || own.size(2) == others.size(2),
                                "is_causal with nested sequences of different lengths of query and key");
    sdp_params one{own, others, spread(part(values, i)), std::nullopt, dropout, causal, false};
    results.push_back(on_host(one, std::nullopt, scale).squeeze(0).transpose(0, 1).contiguous());
  }
  return at::_nested_tensor_from_tensor_list(results).transpose(1, 2);
}

int64_t choice(const Tensor& query, const Tensor& key, const Tensor& value, const AdditiveMask& mask, double dropout,
               bool causal, std::optional<double>, bool grouped) {
  sdp_params given{query, key, value, mask, dropout, causal, grouped};
  SDPBackend chosen = chosen_on_cuda(given);
  if (chosen == SDPBackend::error) refuse(given);
  return int64_t(chosen);
}

}  // namespace

bool attention_takes(int kernel, const sdp_params& given, bool debug) { return takes(SDPBackend(kernel), given, debug); }

void install_attention() {
  for (auto key : {autograd_key(), backend_key()})  // it is made of differentiable parts
    library_for(key).impl("scaled_dot_product_attention", &attention);
  if (settings().type != c10::DeviceType::CUDA) return;
  if (prefers_cudnn()) at::globalContext().setSDPPriorityOrder(kCudnnFirst);
  for (auto key : {c10::DispatchKey::AutogradNestedTensor, c10::DispatchKey::NestedTensorCUDA})
    library_for(key).impl("scaled_dot_product_attention", &attention_of_nested);
  for (auto key : {backend_key(), c10::DispatchKey::NestedTensorCUDA})
    library_for(key).impl("_fused_sdp_choice", &choice);
}

}  // namespace software
