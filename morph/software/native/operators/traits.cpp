// See traits.h.
#include "operators/traits.h"

#include "device/device.h"

#include <torch/version.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_map>

namespace software {
namespace {

using Table = std::unordered_map<std::string_view, Traits>;

constexpr uint64_t types(std::initializer_list<c10::ScalarType> listed) {
  uint64_t bits = 0;
  for (c10::ScalarType type : listed) bits |= uint64_t(1) << int(type);
  return bits;
}

constexpr uint64_t LONG = types({c10::kLong}), BYTE = types({c10::kByte});
constexpr uint64_t INTEGERS = types({c10::kByte, c10::kChar, c10::kShort, c10::kInt, c10::kLong});
constexpr uint64_t FLOAT8 = types({c10::kFloat8_e5m2, c10::kFloat8_e4m3fn, c10::kFloat8_e5m2fnuz, c10::kFloat8_e4m3fnuz,
                                   c10::kFloat8_e8m0fnu});
constexpr uint64_t HALVES = types({c10::kHalf, c10::kBFloat16});
constexpr uint64_t UINTS = types({c10::kUInt16, c10::kUInt32, c10::kUInt64});
constexpr uint64_t SHORT = types({c10::kShort}), BOOL = types({c10::kBool});
constexpr uint64_t COMPLEX = types({c10::kComplexHalf, c10::kComplexFloat, c10::kComplexDouble});

constexpr const char* WITH_HOST_TENSORS[] = {
    "aten::index", "aten::index_put", "aten::index_put_", "aten::_index_put_impl_", "aten::_unsafe_index",
    "aten::_unsafe_index_put", "aten::_pad_packed_sequence", "aten::_pack_padded_sequence",
    "aten::_pack_padded_sequence_backward", "aten::_ctc_loss", "aten::_ctc_loss_backward",
    "aten::_copy_from_and_resize", "aten::segment_reduce", "aten::_segment_reduce_backward"};

// They read it by item() (aten/src/ATen/native/cuda/FusedAdamKernel.cu).
constexpr const char* WITH_HOST_ELEMENT[] = {"aten::_fused_adam_", "aten::_fused_adamw_", "aten::_fused_sgd_",
                                             "aten::_fused_adagrad_"};

// The wrapper for CUDA compares the devices of all tensors (native_functions.yaml has no `device_check: NoCheck`), and the
// CPU's kernel takes one without dimensions. Their variants in place too.
constexpr const char* WITHOUT_HOST_NUMBERS[] = {
    "aten::clamp", "aten::clamp_max", "aten::clamp_min", "aten::gcd", "aten::lcm", "aten::logaddexp",
    "aten::logaddexp2", "aten::igamma", "aten::igammac", "aten::nextafter", "aten::take", "aten::put", "aten::gather",
    "aten::index_select", "aten::index_add", "aten::index_copy", "aten::index_reduce", "aten::scatter",
    "aten::scatter_add", "aten::scatter_reduce", "aten::masked_select", "aten::masked_scatter", "aten::isin",
    "aten::bucketize", "aten::searchsorted", "aten::embedding", "aten::equal", "aten::linalg_cross", "aten::cat",
    "aten::stack", "aten::_stack", "aten::addmm", "aten::baddbmm", "aten::addbmm", "aten::addmv", "aten::addcdiv"};

// Indices by masks wait too, and repeat_interleave without output_size: indexing.cpp.
constexpr const char* WAITING[] = {"aten::nonzero", "aten::masked_select", "aten::_unique", "aten::_unique2",
                                   "aten::unique_dim", "aten::unique_consecutive", "aten::unique_dim_consecutive",
                                   "aten::bincount", "aten::equal"};

// Each with its variant in place.
constexpr const char* MULTIPLYING[] = {"aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::mv", "aten::addmv",
                                       "aten::dot", "aten::vdot", "aten::_addmm_activation"};

// Beside the products. CUDA's attention takes none forwards; what cuDNN takes depends on the card, and on what it finds
// fastest.
constexpr const char* WITH_WORKSPACE[] = {"aten::_convolution", "aten::convolution_backward",
                                          "aten::_scaled_dot_product_flash_attention_for_cpu"};

// The operators that a torch for CUDA registers for the CPU only, and that programs call (2.7.1 to 2.15.0).
constexpr const char* MISSING[] = {"aten::histogram", "aten::_histogramdd_bin_edges",
                                   "aten::_histogramdd_from_bin_cts", "aten::_histogramdd_from_bin_tensors",
                                   "aten::_spdiags", "aten::_add_relu", "aten::_add_relu_",
                                   "aten::narrow_copy"};  // with out=

// The words of an error, which the type's name follows; NO_ENGINE is a whole one.
struct Refusal {
  const char* words;
  uint64_t types;
  std::initializer_list<const char*> operators;
};

constexpr const char* NO_ENGINE = "GET was unable to find an engine to execute this computation";

// `dtypes` without `dtypesIfCUDA` of torch's database of operators, which is the same in 2.7.1 to 2.15.0, and the
// names that CUDA's kernels give to AT_DISPATCH. What is not in quotes is cuDNN's or the operator's own check. What
// the CPU refuses too is here where CUDA's error is of another type (torch 2.11.0 on an H100).
const Refusal REFUSALS[] = {
    {"\"addmm_cuda", INTEGERS | FLOAT8, {"aten::mm", "aten::addmm", "aten::addmm_", "aten::addbmm", "aten::addbmm_"}},
    {"\"baddbmm_cuda", INTEGERS | FLOAT8, {"aten::bmm", "aten::baddbmm", "aten::baddbmm_"}},
    {"\"addmv_impl_cuda", INTEGERS | FLOAT8, {"aten::mv", "aten::addmv", "aten::addmv_"}},
    {"\"dot", INTEGERS, {"aten::dot", "aten::vdot"}},
    {"getCudnnDataTypeFromScalarType() not supported for ", LONG | SHORT | BOOL, {"aten::_convolution"}},
    {NO_ENGINE, BYTE | types({c10::kChar, c10::kInt}), {"aten::_convolution"}},
    {"\"avg_pool2d_out_cuda_frame", LONG, {"aten::avg_pool2d"}},
    {"\"avg_pool3d_out_cuda", LONG, {"aten::avg_pool3d"}},
    {"\"max_pool2d_with_indices_out_cuda_frame", INTEGERS, {"aten::max_pool2d_with_indices"}},
    {"\"max_pool3d_with_indices_out_frame", INTEGERS, {"aten::max_pool3d_with_indices"}},
    {"\"upsample_bilinear2d_out_frame", BYTE,
     {"aten::upsample_bilinear2d", "aten::_upsample_bilinear2d_aa", "aten::_upsample_bicubic2d_aa"}},
    {"\"upsample_bicubic2d_out_frame", BYTE, {"aten::upsample_bicubic2d"}},
#if TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR < 15
    {"\"angle_cuda", HALVES, {"aten::angle"}},
#endif
    {"\"igamma_cuda", HALVES, {"aten::igamma"}},
    {"\"igammac_cuda", HALVES, {"aten::igammac"}},
    {"\"histc", HALVES, {"aten::histc"}},
    {"\"fused_dropout", INTEGERS | UINTS | BOOL | COMPLEX, {"aten::native_dropout"}},
    {"\"bitwise_and_cuda", UINTS, {"aten::bitwise_and", "aten::bitwise_and_"}},
    {"\"bitwise_or_cuda", UINTS, {"aten::bitwise_or", "aten::bitwise_or_"}},
    {"\"bitwise_xor_cuda", UINTS, {"aten::bitwise_xor", "aten::bitwise_xor_"}},
    {"\"and_cuda", UINTS | FLOAT8, {"aten::all"}},
    {"\"or_cuda", UINTS | FLOAT8, {"aten::any"}},
    {"\"abs_cuda", FLOAT8, {"aten::abs"}},
    {"\"sortKeyValueInplace", UINTS, {"aten::sort"}},
    {"\"binomial_cuda", INTEGERS | UINTS | BOOL | COMPLEX, {"aten::binomial"}},
};

constexpr const char* ASSERTING[] = {
    "aten::index", "aten::index_put", "aten::index_put_", "aten::_index_put_impl_", "aten::_unsafe_index",
    "aten::_unsafe_index_put", "aten::index_select", "aten::index_add", "aten::index_add_", "aten::index_copy",
    "aten::index_copy_", "aten::index_fill", "aten::index_fill_", "aten::index_reduce", "aten::index_reduce_",
    "aten::gather", "aten::scatter", "aten::scatter_", "aten::scatter_add", "aten::scatter_add_",
    "aten::scatter_reduce", "aten::scatter_reduce_", "aten::take", "aten::put_", "aten::embedding",
    "aten::embedding_dense_backward", "aten::_embedding_bag", "aten::_embedding_bag_forward_only",
    "aten::nll_loss_forward", "aten::nll_loss2d_forward", "aten::multi_margin_loss", "aten::multi_margin_loss_backward",
    "aten::binary_cross_entropy", "aten::multinomial", "aten::bernoulli", "aten::bernoulli_", "aten::poisson",
    "aten::max_unpool2d", "aten::max_unpool3d", "aten::_assert_async", "aten::masked_scatter", "aten::masked_scatter_"};

struct Widened {
  uint64_t types;
  std::initializer_list<const char*> names;
  bool of_one_type = false;
};

// `dtypesIfCUDA` without `dtypes` of torch's database of operators (2.13), and their gradients. All complex functions
// of half precision are here, of which the CPU has only copies and sums of two.
const Widened WIDENED[] = {
    {types({c10::kComplexHalf}),
     {"aten::acos", "aten::acosh", "aten::angle", "aten::asin", "aten::asinh", "aten::atan", "aten::atanh",
      "aten::cos", "aten::cosh", "aten::div", "aten::exp", "aten::lerp", "aten::log", "aten::logaddexp", "aten::pow",
      "aten::prod", "aten::rsqrt", "aten::sigmoid", "aten::sigmoid_backward", "aten::sin", "aten::sinh", "aten::sqrt", "aten::sum", "aten::tan",
      "aten::tanh", "aten::tanh_backward", "aten::trace", "aten::_fft_c2c", "aten::_fft_c2r"}},
    {HALVES,  // of these the CPU's kernels round at each step
     {"aten::nansum", "aten::polygamma", "aten::prod"}},
    {HALVES,
     {"aten::grid_sampler_2d", "aten::grid_sampler_2d_backward", "aten::grid_sampler_3d", "aten::grid_sampler_3d_backward",
      "aten::multi_margin_loss", "aten::multi_margin_loss_backward"},
     /*of_one_type=*/true},
    {types({c10::kHalf}), {"aten::_fft_r2c", "aten::rrelu_with_noise", "aten::rrelu_with_noise_backward"}},
    {HALVES,
     {"aten::avg_pool3d", "aten::avg_pool3d_backward", "aten::_upsample_bilinear2d_aa",
      "aten::_upsample_bilinear2d_aa_backward", "aten::_upsample_bicubic2d_aa", "aten::_upsample_bicubic2d_aa_backward",
      "aten::multilabel_margin_loss_forward", "aten::multilabel_margin_loss_backward", "aten::binomial",
      "aten::_standard_gamma", "aten::_sample_dirichlet"}},
    {HALVES, {"aten::_sparse_sparse_matmul", "aten::sparse_sampled_addmm"}},
    {HALVES | types({c10::kComplexHalf}), {"aten::_coalesce"}},  // CUDA sums elements of one place in float32
    {types({c10::kBool}), {"aten::abs", "aten::median", "aten::nanmedian", "aten::trace"}},
};

struct Unordered {
  const char* operator_name;
  uint64_t types;
  const char* kernel;
};

constexpr uint64_t FLOATING = HALVES | COMPLEX | types({c10::kFloat, c10::kDouble});
constexpr uint64_t ALL = FLOATING | INTEGERS | BOOL;

// What torch.use_deterministic_algorithms lists as throwing for CUDA tensors (2.13), by the names in libtorch_cuda.
// Not by an operator's name alone, and so in arguments.cpp: cumsum, EmbeddingBag with mode="max", histc, median with
// indices.
constexpr Unordered UNORDERED[] = {
    {"aten::_adaptive_avg_pool2d_backward", ALL, "adaptive_avg_pool2d_backward_cuda"},
    {"aten::_adaptive_avg_pool3d_backward", ALL, "adaptive_avg_pool3d_backward_cuda"},
    {"aten::_ctc_loss_backward", ALL, "ctc_loss_backward_gpu"},
    {"aten::_upsample_bicubic2d_aa_backward", ALL, "upsample_bicubic2d_aa_backward_out_cuda"},
    {"aten::_upsample_bilinear2d_aa_backward", ALL, "upsample_bilinear2d_aa_backward_out_cuda"},
    {"aten::adaptive_max_pool2d_backward", ALL, "adaptive_max_pool2d_backward_cuda"},
    {"aten::avg_pool3d_backward", ALL, "avg_pool3d_backward_cuda"},
    {"aten::bincount", FLOATING, "_bincount_cuda"},
    {"aten::fractional_max_pool2d_backward", ALL, "fractional_max_pool2d_backward_cuda"},
    {"aten::fractional_max_pool3d_backward", ALL, "fractional_max_pool3d_backward_cuda"},
    {"aten::grid_sampler_2d_backward", ALL, "grid_sampler_2d_backward_cuda"},
    {"aten::grid_sampler_3d_backward", ALL, "grid_sampler_3d_backward_cuda"},
    {"aten::index_reduce", ALL, "index_reduce_cuda"},
    {"aten::index_reduce_", ALL, "index_reduce_cuda"},
    {"aten::max_pool3d_with_indices_backward", ALL, "max_pool3d_with_indices_backward_cuda"},
    {"aten::max_unpool2d", ALL, "max_unpooling2d_forward_out"},
    {"aten::max_unpool3d", ALL, "max_unpooling3d_forward_out"},
    {"aten::nll_loss2d_backward", ALL, "nll_loss2d_backward_out_cuda_template"},
    {"aten::nll_loss2d_forward", ALL, "nll_loss2d_forward_out_cuda_template"},
    {"aten::put_", ALL, "put_"},
    {"aten::reflection_pad1d_backward", ALL, "reflection_pad1d_backward_out_cuda"},
    {"aten::reflection_pad3d_backward", ALL, "reflection_pad3d_backward_out_cuda"},
    {"aten::upsample_bicubic2d_backward", ALL, "upsample_bicubic2d_backward_out_cuda"},
    {"aten::upsample_bilinear2d_backward", ALL, "upsample_bilinear2d_backward_out_cuda"},
    {"aten::upsample_linear1d_backward", ALL, "upsample_linear1d_backward_out_cuda"},
    {"aten::upsample_trilinear3d_backward", ALL, "upsample_trilinear3d_backward_out_cuda"},
};

Table* made() {
  auto* table = new Table();
  for (const char* name : WITH_HOST_TENSORS) (*table)[name].takes_host_tensors = true;
  for (const char* name : WITH_HOST_ELEMENT) (*table)[name].takes_host_element = true;
  for (const char* name : WAITING) (*table)[name].waits = true;
  for (const char* name : WITH_WORKSPACE) (*table)[name].has_workspace = true;
  for (const char* suffix : {"", "_"})
    for (std::string name : MULTIPLYING) (*table)[*new std::string(name + suffix)].has_workspace = true;
  if (settings().type != c10::DeviceType::CUDA) return table;
  for (const char* suffix : {"", "_"}) {
    for (std::string name : WITHOUT_HOST_NUMBERS) (*table)[*new std::string(name + suffix)].refuses_host_numbers = true;
    for (std::string name : MULTIPLYING) (*table)[*new std::string(name + suffix)].multiplies = true;
  }
  for (const char* name : ASSERTING) (*table)[name].asserts = true;
  for (const char* name : MISSING) (*table)[name].is_missing = true;
  for (const Widened& each : WIDENED)
    for (const char* name : each.names) {
      (*table)[name].widened |= each.types;
      (*table)[name].takes_one_type |= each.of_one_type;
      (*table)[*new std::string(std::string(name) + "_")].widened |= each.types;
    }
  for (const Refusal& each : REFUSALS)
    for (const char* name : each.operators) (*table)[name].refused |= each.types;
  for (const Unordered& each : UNORDERED) {
    (*table)[each.operator_name].unordered = each.types;
    (*table)[each.operator_name].kernel = each.kernel;
  }
  return table;
}

}  // namespace

const Traits& Traits::none() {
  static const Traits none;
  return none;
}

void refuse_type(std::string_view name, c10::ScalarType type) {
  auto refuses = [&](const Refusal& each) {
    return each.types >> int(type) & 1 && std::find(each.operators.begin(), each.operators.end(), name) != each.operators.end();
  };
  std::string words = std::find_if(std::begin(REFUSALS), std::end(REFUSALS), refuses)->words;
  TORCH_CHECK_NOT_IMPLEMENTED(words[0] != '"', words, "\" not implemented for '", toString(type), "'");
  if (words != NO_ENGINE) words += toString(type);
  TORCH_CHECK(false, words);
}

const Traits& traits(const char* name) {
  static const Table& table = *made();
  auto found = table.find(name);
  return found == table.end() ? Traits::none() : found->second;
}

}  // namespace software
