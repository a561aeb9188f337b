// Collective reductions of dtypes that the vendor's library lacks: the tensors are gathered, and reduced on the host.
#include "kernel.h"
#include "seam.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/ScalarType.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/custom_class.h>

#include <atomic>
#include <cstdio>
#include <set>

namespace seam {
namespace {

using at::Tensor;
using c10::IValue;
using c10d::ReduceOp;
using torch::jit::Stack;
using Tensors = std::vector<Tensor>;

// Never destroyed: at exit other threads may still dispatch.
Over& reducing = *new Over;
auto& refused = *new std::set<at::ScalarType>;
Notice& reduction_notice = *new Notice;

// The ranks' parts are the rows; the same in the same order on each rank.
Tensor combine(const Tensor& rows, ReduceOp::RedOpType operation) {
  switch (operation) {
    case ReduceOp::SUM: return rows.sum(0);
    case ReduceOp::AVG: return rows.mean(0);
    case ReduceOp::PRODUCT: return rows.prod(0);
    case ReduceOp::MIN: return rows.amin(0);
    case ReduceOp::MAX: return rows.amax(0);
    default: TORCH_CHECK(false, "ReduceOp ", int(operation), " is not reduced on the host");
  }
}

bool combines(ReduceOp::RedOpType operation) {
  return operation == ReduceOp::SUM || operation == ReduceOp::AVG || operation == ReduceOp::PRODUCT ||
         operation == ReduceOp::MIN || operation == ReduceOp::MAX;
}

struct Reduction {
  c10::intrusive_ptr<c10d::Backend> group;
  ReduceOp::RedOpType operation;

  // On the host, and flat.
  Tensor of(const Tensor& part) const {
    Tensor all = at::empty({group->getSize() * part.numel()}, part.options());
    Tensor flat = part.reshape({-1}).contiguous();
    group->_allgather_base(all, flat)->wait();
    return combine(all.cpu().view({group->getSize(), part.numel()}), operation);
  }
  void all(const Tensors& tensors) const {
    for (const Tensor& tensor : tensors) tensor.copy_(of(tensor).view(tensor.sizes()));
  }
  void to_root(const Tensors& tensors, int64_t root) const {
    for (const Tensor& tensor : tensors) {
      Tensor result = of(tensor);
      if (group->getRank() == root) tensor.copy_(result.view(tensor.sizes()));
    }
  }
  void scatter(const Tensor& output, const Tensor& input) const {
    output.copy_(of(input).chunk(group->getSize())[size_t(group->getRank())].view(output.sizes()));
  }
};

c10::intrusive_ptr<c10d::Work> done(const Tensors& results) {
  auto future = c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()));
  future->markCompleted(results);
  return c10d::Work::create_from_future(future);
}

Tensors tensors_of(const IValue& value) {
  if (value.isTensor()) return {value.toTensor()};
  return value.toTensorVector();
}

// The arguments of an operator of c10d: its tensors, one or two, come before the group and the operation.
struct Call {
  const c10::OperatorHandle& op;
  std::vector<IValue> arguments;

  const IValue& named(const char* name) const { return arguments[size_t(*op.schema().argumentIndexWithName(name))]; }
  bool scatters() const { return op.schema().name().find("reduce_scatter") != std::string::npos; }
  Tensors written() const { return tensors_of(arguments[0]); }
  Reduction reduction() const {
    auto group = named("process_group").toCustomClass<c10d::ProcessGroup>()->getBackend(target());
    return {group, named("reduce_op").toCustomClass<ReduceOp>()->op_};
  }
  bool is_refused() const {
    Tensors tensors = written();
    bool dense = std::all_of(tensors.begin(), tensors.end(), [](const Tensor& each) { return !each.is_sparse(); });
    return dense && !tensors.empty() && refused.count(tensors[0].scalar_type()) &&
           combines(named("reduce_op").toCustomClass<ReduceOp>()->op_);
  }
  // One input for each output; a list of lists is concatenated.
  Tensors read() const {
    const IValue& value = arguments[1];
    if (value.isTensor() || value.isTensorList()) return tensors_of(value);
    Tensors joined;
    for (const IValue& each : value.toListRef()) {
      Tensors parts = each.toTensorVector();
      for (Tensor& part : parts) part = part.reshape({-1});
      joined.push_back(at::cat(parts));
    }
    return joined;
  }
  void run() const {
    Reduction reduction = this->reduction();
    Tensors written = this->written();
    if (op.schema().name() == "c10d::reduce_") return reduction.to_root(written, named("root_rank").toInt());
    if (!scatters()) return reduction.all(written);
    Tensors read = this->read();
    for (size_t i = 0; i < written.size(); ++i) reduction.scatter(written[i], read[i]);
  }
};

void reduce(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  size_t count = op.schema().arguments().size();
  Call call{op, {stack->end() - int64_t(count), stack->end()}};
  if (!call.is_refused()) return reducing.call_targets(op, keys, stack);
  reduction_notice.say();
  at::AutoDispatchBelowADInplaceOrView no_autograd;
  call.run();
  torch::jit::drop(*stack, count);
  if (op.schema().returns().size() == 2) stack->push_back(call.arguments[0]);
  stack->push_back(done(call.written()));
}

constexpr const char* names[] = {
    "c10d::allreduce_", "c10d::allreduce_coalesced_", "c10d::reduce_", "c10d::reduce_scatter_",
    "c10d::_reduce_scatter_base_", "c10d::reduce_scatter_tensor_coalesced_"};

}  // namespace

void reduce_on_host(const std::vector<std::string>& dtypes, const std::string& saying) {
  disengage_reductions();
  reduction_notice.line = saying;
  for (const auto& dtype : dtypes) refused.insert(c10::getStringToDtypeMap().at(dtype));
  for (const char* name : names) reducing.put<&reduce>(name);
}

void disengage_reductions() {
  reducing.remove();
  refused.clear();
}

}  // namespace seam
