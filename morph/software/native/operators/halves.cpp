// See halves.h. Products of matrices; convolutions are in neural.cpp, attention in scaled_dot_product.cpp.
#include "operators/halves.h"

#include "operators/kernels.h"
#include "operators/operators.h"
#include "operators/unboxed.h"

#include <ATen/Operators.h>

namespace software {
namespace {

using at::Scalar;
using at::Tensor;

// The CPU's kernel is fast for few rows by a transposed matrix, as a layer's weights are.
bool is_slow_product(const Tensor& first, const Tensor& second) {
  int64_t dim = first.dim();
  bool are_halves = first.scalar_type() == at::kHalf && second.scalar_type() == at::kHalf;
  if (!are_halves || dim < 2 || second.dim() != dim) return false;
  bool is_fast = first.size(dim - 2) < 4 && second.stride(dim - 2) == 1;
  return !is_fast && first.numel() * second.size(dim - 1) >= 1 << 14;
}
bool is_slow_product(const Tensor& first, const Tensor& second, const Tensor& result) {
  int64_t dim = first.dim();
  return is_slow_product(first, second) && result.scalar_type() == at::kHalf && result.dim() == dim &&
         result.size(dim - 2) == first.size(dim - 2) && result.size(dim - 1) == second.size(dim - 1);
}

template <class Operator>
Tensor wide_product(const Tensor& self, const Tensor& other) {
  return to_half(Operator::call(to_single(self), to_single(other)));
}
template <class Operator>
void write_product(const Tensor& self, const Tensor& other, Tensor& out) {
  out.copy_(wide_product<Operator>(self, other));
}
template <class Operator>
Tensor wide_sum(const Tensor& self, const Tensor& first, const Tensor& second, const Scalar& beta,
                const Scalar& alpha) {
  return to_half(Operator::call(to_single(self), to_single(first), to_single(second), beta, alpha));
}
template <class Operator>
void write_sum(const Tensor& self, const Tensor& first, const Tensor& second, const Scalar& beta, const Scalar& alpha,
               Tensor& out) {
  out.copy_(wide_sum<Operator>(self, first, second, beta, alpha));
}
template <class Operator>
void write_sum_in_place(Tensor& self, const Tensor& first, const Tensor& second, const Scalar& beta,
                        const Scalar& alpha) {
  self.copy_(wide_sum<Operator>(self, first, second, beta, alpha));
}

template <Name name, class Operator>
Tensor half_product(const Tensor& self, const Tensor& other) {
  if (!is_slow_product(self, other)) return plain<Operator>(self, other);
  return OnHost<name, &wide_product<Operator>>::call(self, other);
}
template <Name name, class Into, class Operator>
Tensor& half_product_into(const Tensor& self, const Tensor& other, Tensor& out) {
  if (!is_slow_product(self, other, out)) return plain<Into>(self, other, out);
  OnHost<name, &write_product<Operator>>::call(self, other, out);
  return out;
}
template <Name name, class Operator>
Tensor half_sum(const Tensor& self, const Tensor& first, const Tensor& second, const Scalar& beta,
                const Scalar& alpha) {
  if (self.scalar_type() != at::kHalf || !is_slow_product(first, second))
    return plain<Operator>(self, first, second, beta, alpha);
  return OnHost<name, &wide_sum<Operator>>::call(self, first, second, beta, alpha);
}
template <Name name, class Into, class Operator>
Tensor& half_sum_into(const Tensor& self, const Tensor& first, const Tensor& second, const Scalar& beta,
                      const Scalar& alpha, Tensor& out) {
  if (self.scalar_type() != at::kHalf || !is_slow_product(first, second, out))
    return plain<Into>(self, first, second, beta, alpha, out);
  OnHost<name, &write_sum<Operator>>::call(self, first, second, beta, alpha, out);
  return out;
}
template <Name name, class InPlace, class Operator>
Tensor& half_sum_in_place(Tensor& self, const Tensor& first, const Tensor& second, const Scalar& beta,
                          const Scalar& alpha) {
  if (!is_slow_product(first, second, self)) return plain<InPlace>(self, first, second, beta, alpha);
  OnHost<name, &write_sum_in_place<Operator>>::call(self, first, second, beta, alpha);
  return self;
}

}  // namespace

bool halves_are_slow() {
  static const bool slow = [] {
    auto asks = c10::Dispatcher::singleton().findSchema({"mkldnn::_is_mkldnn_fp16_supported", ""});
    // past the modes of Python, which may watch while the device is installed
    return asks && !asks->typed<bool()>().redispatch(c10::DispatchKeySet(c10::DispatchKey::CPU));
  }();
  return slow;
}

void install_products_of_halves() {
  if (!halves_are_slow()) return;
  namespace of = at::_ops;
  torch::Library& library = library_for(backend_key());
  library.impl("mm", &half_product<"aten::mm", of::mm>);
  library.impl("bmm", &half_product<"aten::bmm", of::bmm>);
  library.impl("mm.out", &half_product_into<"aten::mm", of::mm_out, of::mm>);
  library.impl("bmm.out", &half_product_into<"aten::bmm", of::bmm_out, of::bmm>);
  library.impl("addmm", &half_sum<"aten::addmm", of::addmm>);
  library.impl("baddbmm", &half_sum<"aten::baddbmm", of::baddbmm>);
  library.impl("addmm.out", &half_sum_into<"aten::addmm", of::addmm_out, of::addmm>);
  library.impl("baddbmm.out", &half_sum_into<"aten::baddbmm", of::baddbmm_out, of::baddbmm>);
  library.impl("addmm_", &half_sum_in_place<"aten::addmm_", of::addmm_, of::addmm>);
  library.impl("baddbmm_", &half_sum_in_place<"aten::baddbmm_", of::baddbmm_, of::baddbmm>);
}

}  // namespace software
