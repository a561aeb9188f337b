// A process group backend under the vendor's name that carries out its collectives through another one (gloo), on
// CPU tensors that share the device's memory. A library of its own: few programs need it, and it takes long to build.
#include "host_view.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <pybind11/chrono.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/utils/pybind.h>
#include <torch/library.h>

namespace software {
namespace {

using at::Tensor;
using c10::intrusive_ptr;
using c10d::Work;
using Tensors = std::vector<Tensor>;
using TensorLists = std::vector<Tensors>;

Tensors views(const Tensors& tensors) {
  Tensors all;
  for (const Tensor& tensor : tensors) all.push_back(software::host_view(tensor));
  return all;
}

TensorLists views(const TensorLists& lists) {
  TensorLists all;
  for (const Tensors& list : lists) all.push_back(views(list));
  return all;
}

Tensors flat(const TensorLists& lists) {
  Tensors all;
  for (const Tensors& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

// Work whose results are the device's tensors: DDP reads a reduced bucket from its future. Without the other backend's
// work it is done already.
class HostWork final : public Work {
 public:
  HostWork(intrusive_ptr<Work> inner, Tensors results) : inner_(std::move(inner)), results_(std::move(results)) {}

  bool isCompleted() override { return !inner_ || inner_->isCompleted(); }
  bool isSuccess() const override { return !inner_ || inner_->isSuccess(); }
  std::exception_ptr exception() const override { return inner_ ? inner_->exception() : nullptr; }
  int sourceRank() const override { return inner_ ? inner_->sourceRank() : -1; }
  Tensors result() override { return results_; }
  void synchronize() override { wait(kNoTimeout); }
  bool wait(std::chrono::milliseconds timeout) override { return !inner_ || inner_->wait(timeout); }
  void blockCurrentStream() override { wait(kNoTimeout); }
  intrusive_ptr<c10::ivalue::Future> getFuture() override {
    std::vector<c10::Device> devices;
    for (const Tensor& tensor : results_)
      if (!tensor.is_cpu()) devices = {tensor.device()};
    auto future = c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()), devices);
    wait(kNoTimeout);
    future->markCompleted(c10::IValue(results_));
    return future;
  }

 private:
  intrusive_ptr<Work> inner_;
  Tensors results_;
};

class HostBackend final : public c10d::Backend {
 public:
  HostBackend(intrusive_ptr<Backend> inner, std::string name)
      : Backend(inner->getRank(), inner->getSize()), inner_(std::move(inner)), name_(std::move(name)) {}

  const std::string getBackendName() const override { return name_; }
  intrusive_ptr<Options> getBackendOptions() override { return inner_->getBackendOptions(); }
  void setTimeout(std::chrono::milliseconds timeout) override { inner_->setTimeout(timeout); }
  void setSequenceNumberForGroup() override { inner_->setSequenceNumberForGroup(); }
  uint64_t getSequenceNumberForGroup() override { return inner_->getSequenceNumberForGroup(); }

  intrusive_ptr<Work> broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override {
    Tensors host = views(tensors);
    return work(inner_->broadcast(host, options), tensors);
  }
  intrusive_ptr<Work> allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override {
    return averaged(tensors, options, [&](Tensors& host, auto& sum) { return inner_->allreduce(host, sum); });
  }
  intrusive_ptr<Work> allreduce_coalesced(Tensors& tensors, const c10d::AllreduceCoalescedOptions& options) override {
    return averaged(tensors, options, [&](Tensors& host, auto& sum) { return inner_->allreduce_coalesced(host, sum); });
  }
  intrusive_ptr<Work> reduce(Tensors& tensors, const c10d::ReduceOptions& options) override {
    return averaged(tensors, options, [&](Tensors& host, auto& sum) { return inner_->reduce(host, sum); });
  }
  intrusive_ptr<Work> allgather(TensorLists& outputs, Tensors& inputs, const c10d::AllgatherOptions& options) override {
    TensorLists host_outputs = views(outputs);
    Tensors host_inputs = views(inputs);
    return work(inner_->allgather(host_outputs, host_inputs, options), flat(outputs));
  }
  intrusive_ptr<Work> _allgather_base(Tensor& output, Tensor& input, const c10d::AllgatherOptions& options) override {
    Tensor host_output = software::host_view(output), host_input = software::host_view(input);
    return work(inner_->_allgather_base(host_output, host_input, options), {output});
  }
  intrusive_ptr<Work> allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                      const c10d::AllgatherOptions& options) override {
    Tensors host_outputs = views(outputs), host_inputs = views(inputs);
    return work(inner_->allgather_into_tensor_coalesced(host_outputs, host_inputs, options), outputs);
  }
  intrusive_ptr<Work> gather(TensorLists& outputs, Tensors& inputs, const c10d::GatherOptions& options) override {
    TensorLists host_outputs = views(outputs);
    Tensors host_inputs = views(inputs);
    return work(inner_->gather(host_outputs, host_inputs, options), flat(outputs));
  }
  intrusive_ptr<Work> scatter(Tensors& outputs, TensorLists& inputs, const c10d::ScatterOptions& options) override {
    Tensors host_outputs = views(outputs);
    TensorLists host_inputs = views(inputs);
    return work(inner_->scatter(host_outputs, host_inputs, options), outputs);
  }
  intrusive_ptr<Work> reduce_scatter(Tensors& outputs, TensorLists& inputs,
                                     const c10d::ReduceScatterOptions& options) override {
    TensorLists host_inputs = views(inputs);
    return averaged(outputs, options,
                    [&](Tensors& host, auto& sum) { return inner_->reduce_scatter(host, host_inputs, sum); });
  }
  intrusive_ptr<Work> _reduce_scatter_base(Tensor& output, Tensor& input,
                                           const c10d::ReduceScatterOptions& options) override {
    Tensor host_input = software::host_view(input);
    return averaged({output}, options,
                    [&](Tensors& host, auto& sum) { return inner_->_reduce_scatter_base(host[0], host_input, sum); });
  }
  intrusive_ptr<Work> reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                      const c10d::ReduceScatterOptions& options) override {
    Tensors host_inputs = views(inputs);
    return averaged(outputs, options, [&](Tensors& host, auto& sum) {
      return inner_->reduce_scatter_tensor_coalesced(host, host_inputs, sum);
    });
  }
  intrusive_ptr<Work> alltoall_base(Tensor& output, Tensor& input, std::vector<int64_t>& output_splits,
                                    std::vector<int64_t>& input_splits, const c10d::AllToAllOptions& options) override {
    Tensor host_output = software::host_view(output), host_input = software::host_view(input);
    return work(inner_->alltoall_base(host_output, host_input, output_splits, input_splits, options), {output});
  }
  intrusive_ptr<Work> alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& options) override {
    Tensors host_outputs = views(outputs), host_inputs = views(inputs);
    return work(inner_->alltoall(host_outputs, host_inputs, options), outputs);
  }
  intrusive_ptr<Work> send(Tensors& tensors, int target, int tag) override {
    Tensors host = views(tensors);
    return work(inner_->send(host, target, tag), tensors);
  }
  intrusive_ptr<Work> recv(Tensors& tensors, int source, int tag) override {
    Tensors host = views(tensors);
    return work(inner_->recv(host, source, tag), tensors);
  }
  intrusive_ptr<Work> recvAnysource(Tensors& tensors, int tag) override {
    Tensors host = views(tensors);
    return work(inner_->recvAnysource(host, tag), tensors);
  }
  intrusive_ptr<Work> barrier(const c10d::BarrierOptions& options) override { return inner_->barrier(options); }

 private:
  static intrusive_ptr<Work> work(intrusive_ptr<Work> inner, Tensors results) {
    return c10::make_intrusive<HostWork>(std::move(inner), std::move(results));
  }

  // gloo cannot average: sum, then divide. Its work is not kept, which may write the sum again when it is waited for.
  template <typename Options, typename Reduce>
  intrusive_ptr<Work> averaged(const Tensors& results, const Options& options, Reduce reduce) {
    Tensors host = views(results);
    if (options.reduceOp != c10d::ReduceOp::AVG) return work(reduce(host, options), results);
    Options sum = options;
    sum.reduceOp = c10d::ReduceOp::SUM;
    reduce(host, sum)->wait();
    for (Tensor& tensor : host) tensor.div_(getSize());
    return work(nullptr, results);
  }

  intrusive_ptr<Backend> inner_;
  std::string name_;
};

intrusive_ptr<c10d::Backend> over(const intrusive_ptr<c10d::Backend>& inner, const std::string& name) {
  return c10::make_intrusive<HostBackend>(inner, name);
}

// A group that has for PrivateUse1 what another has for XPU.
c10::IValue renamed(const intrusive_ptr<c10d::ProcessGroup>& group) {
  auto twin = c10::make_intrusive<c10d::ProcessGroup>(group->getRank(), group->getSize());
  twin->setBackend(c10::DeviceType::PrivateUse1, c10d::ProcessGroup::BackendType::CUSTOM,
                   group->getBackend(c10::DeviceType::XPU));
  return twin;
}

void call_as_privateuse1(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const auto& arguments = op.schema().arguments();
  for (auto [argument, value] = std::pair(arguments.begin(), stack->end() - long(arguments.size()));
       argument != arguments.end(); ++argument, ++value)
    if (argument->name() == "process_group") *value = renamed(value->toCustomClass<c10d::ProcessGroup>());
  op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), stack);
}

// torch's kernels of c10d for PrivateUse1 mind the device in one place only: which backend of the group they ask.
void serve_xpu() {
  static auto* library = new torch::Library(torch::Library::IMPL, "c10d", c10::DispatchKey::XPU, __FILE__, __LINE__);
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const c10::OperatorName& name : dispatcher.getRegistrationsForDispatchKey(c10::DispatchKey::PrivateUse1))
    if (name.getNamespace() == "c10d")
      library->impl(c10::toString(name).c_str(), torch::CppFunction::makeFromBoxedFunction<&call_as_privateuse1>());
}

}  // namespace
}  // namespace software

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) {
  module.def("over", &software::over);
  module.def("serve_xpu", &software::serve_xpu);
}
