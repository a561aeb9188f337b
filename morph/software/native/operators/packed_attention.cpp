// The fused kernels of attention for (batch, rows, heads, width), or for sequences of several lengths one after the
// other, of which a tensor says where they start: what torch.nn.attention.varlen and nested tensors call.
#include "memory/host_view.h"
#include "device/captures.h"
#include "operators/fused_attention.h"
#include "operators/kernels.h"
#include "operators/operators.h"


namespace software {
namespace {

constexpr int64_t kApart = 0x1E3779B97F4A7C15;  // between the seeds of two sequences

using at::Tensor;
using c10::IValue;
using torch::jit::Stack;
using Optional = std::optional<Tensor>;

// The arguments of a call by name: releases of torch add some.
class Named {
 public:
  Named(const c10::OperatorHandle& op, Stack& stack) : schema_(op.schema()) {
    values_ = torch::jit::pop(stack, schema_.arguments().size());
  }
  IValue operator[](const char* name) const {
    auto index = schema_.argumentIndexWithName(name);
    return index ? values_[size_t(*index)] : IValue();
  }
  Tensor tensor(const char* name) const {
    IValue value = (*this)[name];
    return value.isTensor() ? value.toTensor() : Tensor();
  }
  Scale scale() const { return (*this)["scale"].toOptional<double>(); }
  std::optional<int64_t> bound(const char* name) const {
    IValue value = (*this)[name];
    return value.isInt() && value.toInt() >= 0 ? std::optional(value.toInt()) : std::nullopt;
  }
  void refuse(std::initializer_list<const char*> names) const {
    for (const char* name : names)
      TORCH_CHECK_NOT_IMPLEMENTED((*this)[name].isNone(), schema_.name(), " of this device takes no ", name, ".");
  }

 private:
  const c10::FunctionSchema& schema_;
  std::vector<IValue> values_;
};

struct Rows {
  int64_t from, length;
};

// Of each sequence; all rows of a batch are as one.
std::vector<Rows> rows_of(const Tensor& packed, const Tensor& starts, const Tensor& lengths = {}) {
  if (!starts.defined()) return {{0, packed.size(1)}};
  Tensor from = starts.to(at::kLong).contiguous();
  Tensor used = lengths.defined() ? lengths.to(at::kLong).contiguous() : Tensor();
  std::vector<Rows> all;
  const int64_t* first = elements<int64_t>(from);
  for (int64_t i = 0; i + 1 < from.numel(); i++)
    all.push_back({first[i], used.defined() ? elements<int64_t>(used)[i] : first[i + 1] - first[i]});
  return all;
}

Tensor part(const Tensor& packed, const Rows& rows) { return packed.narrow(1, rows.from, rows.length).transpose(1, 2); }

Tensor with_batch(const Tensor& packed) { return packed.dim() == 3 ? packed.unsqueeze(0) : packed; }

struct Packed {
  Tensor query, key, value;
  std::vector<Rows> queries, keys;
};

// The result, and the sums of each sequence.
std::pair<Tensor, std::vector<Tensor>> forward(const Packed& all, const Mask& mask, Draw draw, Scale scale) {
  at::IntArrayRef sizes = all.query.sizes();
  Tensor result = at::zeros({sizes[0], sizes[1], sizes[2], all.value.size(3)}, all.query.options());
  std::vector<Tensor> sums;
  for (size_t i = 0; i < all.queries.size(); i++) {
    const Rows &rows = all.queries[i], &keys = all.keys[i];
    auto [attended, sum] = attend(part(all.query, rows), part(all.key, keys), part(all.value, keys), mask, draw, scale);
    part(result, rows).copy_(attended);
    sums.push_back(sum.to(at::kFloat));
    draw.seed = draw.seed + kApart;
  }
  return {result, sums};
}

Gradients backward(const Tensor& gradient, const Packed& all, const std::vector<Tensor>& sums, const Mask& mask,
                   Draw draw, Scale scale) {
  Gradients total{at::zeros_like(all.query), at::zeros_like(all.key), at::zeros_like(all.value), {}};
  for (size_t i = 0; i < all.queries.size(); i++) {
    const Rows &rows = all.queries[i], &keys = all.keys[i];
    Gradients one = attend_backward(part(gradient, rows), part(all.query, rows), part(all.key, keys),
                                    part(all.value, keys), sums[i], mask, draw, scale);
    part(total.query, rows).copy_(one.query);
    part(total.key, keys).copy_(one.key);
    part(total.value, keys).copy_(one.value);
    total.bias = one.bias;
    draw.seed = draw.seed + kApart;
  }
  return total;
}

Packed packed(const Named& given, const char* query_starts, const char* key_starts) {
  Tensor query = with_batch(given.tensor("query")), key = with_batch(given.tensor("key"));
  Tensor starts = given.tensor(query_starts), others = given.tensor(key_starts);
  return {query, key, with_batch(given.tensor("value")), rows_of(query, starts),
          rows_of(key, others.defined() ? others : starts, given.tensor("seqused_k"))};
}

// ---- FlashAttention: the sums are (batch, heads, rows), or (heads, rows) of all sequences.

Mask flash_mask(const Named& given) {
  return {{}, given["is_causal"].toBool() ? kFromBottomRight : 0, given.bound("window_size_left"),
          given.bound("window_size_right")};
}

void flash_forward(const c10::OperatorHandle& op, Stack* stack) {
  Named given(op, *stack);
  refuse_unless_half(given.tensor("query"));
  given.refuse({"alibi_slopes", "block_table"});
  Packed all = packed(given, "cum_seq_q", "cum_seq_k");
  Draw draw = drawn(given["dropout_p"].toDouble(), all.query.device());
  auto [result, sums] = forward(all, flash_mask(given), draw, given.scale());
  bool sequences = given.tensor("cum_seq_q").defined();
  Tensor state = flash_state(draw, all.query.device());
  Tensor all_sums = sequences ? at::cat(sums, 2).squeeze(0) : sums[0];
  torch::jit::push(*stack, result.view_as(given.tensor("query")), all_sums, state, at::empty({}, state.options()),
                   at::empty({0}, all.query.options()));
}

void flash_backward_packed(const c10::OperatorHandle& op, Stack* stack) {
  Named given(op, *stack);
  Packed all = packed(given, "cum_seq_q", "cum_seq_k");
  Tensor sum = given.tensor("logsumexp");
  std::vector<Tensor> sums{sum};
  if (given.tensor("cum_seq_q").defined()) {
    sums.clear();
    for (const Rows& rows : all.queries) sums.push_back(sum.narrow(1, rows.from, rows.length).unsqueeze(0));
  }
  Draw draw = drawn_by(given["dropout_p"].toDouble(), given.tensor("rng_state"));
  Gradients of = backward(with_batch(given.tensor("grad_out")), all, sums, flash_mask(given), draw, given.scale());
  torch::jit::push(*stack, of.query.view_as(given.tensor("query")), of.key.view_as(given.tensor("key")),
                   of.value.view_as(given.tensor("value")));
}

// ---- The efficient kernel: the sums are (batch or sequences, heads, rows), the rows a multiple of 32.

Mask efficient_mask(const Named& given) {
  given.refuse({"seqlen_k", "window_size"});
  Tensor bias = given.tensor("bias");
  bool sequences = given.tensor("cu_seqlens_q").defined();
  TORCH_CHECK_NOT_IMPLEMENTED(!bias.defined() || !sequences,
                              "A bias of sequences of several lengths is not implemented.");
  return {bias.defined() ? Optional(bias) : std::nullopt, given["custom_mask_type"].toInt(), {}, {}};
}

int64_t longest(const Named& given, const char* name, const Tensor& packed) {
  return given.bound(name).value_or(packed.size(1));
}

void efficient_forward(const c10::OperatorHandle& op, Stack* stack) {
  Named given(op, *stack);
  at::ScalarType type = given.tensor("query").scalar_type();
  TORCH_CHECK(type == at::kHalf || type == at::kBFloat16 || type == at::kFloat,
              "Only fp32, half & bf16 supported at the moment");
  Packed all = packed(given, "cu_seqlens_q", "cu_seqlens_k");
  Draw draw = drawn(given["dropout_p"].toDouble(), all.query.device());
  auto [result, sums] = forward(all, efficient_mask(given), draw, given.scale());
  int64_t rows = longest(given, "max_seqlen_q", all.query);
  for (Tensor& sum : sums) sum = padded_rows(sum, rows);
  Tensor every = at::cat(sums);
  if (!given["compute_log_sumexp"].toBool()) every = every.narrow(-1, 0, 0).clone();
  // as on CUDA, where a capture alone keeps them on the device
  bool captured = is_capturing(current_stream(all.query.device().index()));
  auto place = captured ? all.query.device() : c10::Device(c10::kCPU);
  torch::jit::push(*stack, result, every, draw.seed.to(place), draw.offset.to(place), rows,
                   longest(given, "max_seqlen_k", all.key));
}

void efficient_backward_packed(const c10::OperatorHandle& op, Stack* stack) {
  Named given(op, *stack);
  Packed all = packed(given, "cu_seqlens_q", "cu_seqlens_k");
  Tensor sum = given.tensor("logsumexp"), bias = given.tensor("bias");
  bool sequences = given.tensor("cu_seqlens_q").defined();
  std::vector<Tensor> sums;
  for (size_t i = 0; i < all.queries.size(); i++)
    sums.push_back((sequences ? sum.narrow(0, int64_t(i), 1) : sum).narrow(-1, 0, all.queries[i].length));
  Draw draw{given["dropout_p"].toDouble(), number_of(given.tensor("philox_seed"), 0),
            number_of(given.tensor("philox_offset"), 0)};
  Gradients of = backward(given.tensor("grad_out_"), all, sums, efficient_mask(given), draw, given.scale());
  bool of_bias = bias.defined() && given["bias_requires_grad"].toBool();
  torch::jit::push(*stack, of.query, of.key, of.value,
                   of_bias ? bias_gradient(of.bias, bias) : Tensor());
}

}  // namespace

KERNELS_OF_CUDA(packed_attention, library) {
  boxed<&flash_forward>(library, {"_flash_attention_forward"});
  boxed<&flash_backward_packed>(library, {"_flash_attention_backward"});
  boxed<&efficient_forward>(library, {"_efficient_attention_forward"});
  boxed<&efficient_backward_packed>(library, {"_efficient_attention_backward"});
}

}  // namespace software
