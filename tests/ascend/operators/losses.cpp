// Backward operators that torch_npu registers for composites, and the CPU therefore does not have.
#include "operators/interface.h"

using namespace soft_cann;

namespace {

Tensor reduced(const Tensor &gradient, int64_t reduction, int64_t count) {
  return reduction == at::Reduction::Mean ? gradient / double(count) : gradient;
}

// d/dtarget of target * (log(target) - input), or of exp(target) * (target - input).
Tensor kl_div_target(const Tensor &input, const Tensor &target, bool log_target) {
  if (log_target) return target.exp() * (target + 1 - input);
  return at::where(target > 0, target.log() + 1 - input, 0 * target);
}

void repeat_interleave_grad(const Tensor &gradient, const Tensor &repeats, int64_t dim, Tensor out) {
  int64_t size = out.size(dim);
  Tensor counts = repeats.to(at::kLong).reshape({-1});
  if (counts.numel() == 1) counts = counts.expand({size});
  Tensor index = at::repeat_interleave(at::arange(size), counts);
  out.zero_().index_add_(dim, index, gradient.to(out.scalar_type()));
}

}  // namespace

OPERATOR(aclnnL1LossBackward,
         (TensorArgument gradient, TensorArgument input, TensorArgument goal, int64_t reduction,
          TensorArgument out),
         {
           int64_t count = std::max(input->value.numel(), goal->value.numel());
           put(out, reduced(gradient->value, reduction, count) * (input->value - goal->value).sign());
         })

OPERATOR(aclnnKlDivBackward,
         (TensorArgument gradient, TensorArgument input, TensorArgument goal, int64_t reduction, bool log_target,
          TensorArgument out),
         {
           Tensor probability = log_target ? goal->value.exp() : goal->value;
           put(out, reduced(-probability * gradient->value, reduction, input->value.numel()));
         })

OPERATOR(aclnnKlDivTargetBackward,
         (TensorArgument gradient, TensorArgument input, TensorArgument goal, int64_t reduction, bool log_target,
          TensorArgument out),
         {
           Tensor slope = kl_div_target(input->value, goal->value, log_target);
           put(out, reduced(gradient->value * slope, reduction, input->value.numel()));
         })

OPERATOR(aclnnRepeatInterleaveGrad,
         (TensorArgument gradient, TensorArgument repeats, int64_t dim, TensorArgument out),
         repeat_interleave_grad(gradient->value, repeats->value, dim, target(out)))
