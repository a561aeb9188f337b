// Copies, fills, and the arithmetic that torch_npu's C++ calls directly, past the dispatcher.
#include "operators/interface.h"

using namespace soft_cann;

namespace {

std::vector<Tensor> tensors(TensorsArgument list) {
  std::vector<Tensor> result;
  for (auto *tensor : list->values) result.push_back(tensor->value);
  return result;
}

}  // namespace

OPERATOR(aclnnInplaceCopy, (TensorArgument self, TensorArgument source), put(self, source->value))
OPERATOR(aclnnCast, (TensorArgument self, aclDataType, TensorArgument out), put(out, self->value))
OPERATOR(aclnnInplaceZero, (TensorArgument self), target(self).zero_())
OPERATOR(aclnnInplaceOne, (TensorArgument self), target(self).fill_(1))
OPERATOR(aclnnInplaceFillScalar, (TensorArgument self, ScalarArgument value), target(self).fill_(value->value))
OPERATOR(aclnnInplaceFillTensor, (TensorArgument self, TensorArgument value), target(self).fill_(value->value))

OPERATOR(aclnnCat, (TensorsArgument list, int64_t dim, TensorArgument out), put(out, at::cat(tensors(list), dim)))
OPERATOR(aclnnStack, (TensorsArgument list, int64_t dim, TensorArgument out),
         put(out, at::stack(tensors(list), dim)))
OPERATOR(aclnnConstantPadNd, (TensorArgument self, IntsArgument pad, ScalarArgument value, TensorArgument out),
         put(out, at::constant_pad_nd(self->value, pad->values, value->value)))

OPERATOR(aclnnAdd, (TensorArgument a, TensorArgument b, ScalarArgument alpha, TensorArgument out),
         put(out, at::add(a->value, b->value, alpha->value)))
OPERATOR(aclnnSub, (TensorArgument a, TensorArgument b, ScalarArgument alpha, TensorArgument out),
         put(out, at::sub(a->value, b->value, alpha->value)))
OPERATOR(aclnnMul, (TensorArgument a, TensorArgument b, TensorArgument out), put(out, at::mul(a->value, b->value)))
OPERATOR(aclnnMuls, (TensorArgument a, ScalarArgument b, TensorArgument out),
         put(out, at::mul(a->value, b->value)))
OPERATOR(aclnnDiv, (TensorArgument a, TensorArgument b, TensorArgument out), put(out, at::div(a->value, b->value)))
OPERATOR(aclnnDivs, (TensorArgument a, ScalarArgument b, TensorArgument out),
         put(out, at::div(a->value, b->value)))
OPERATOR(aclnnComplex, (TensorArgument real, TensorArgument imaginary, TensorArgument out),
         put(out, at::complex(real->value, imaginary->value)))

OPERATOR(aclnnMatmul, (TensorArgument a, TensorArgument b, TensorArgument out, int8_t),
         put(out, at::matmul(a->value, b->value)))
OPERATOR(aclnnMm, (TensorArgument a, TensorArgument b, TensorArgument out, int8_t),
         put(out, at::mm(a->value, b->value)))
OPERATOR(aclnnBatchMatMul, (TensorArgument a, TensorArgument b, TensorArgument out, int8_t),
         put(out, at::bmm(a->value, b->value)))
