// A process group backend under the vendor's name that runs its collectives on another one (gloo), with
// CPU tensors that share the device's memory. A separate library: few programs need it, and it takes long to build.
#include "collective/absent.h"
#include "collective/collective_work.h"
#include "memory/host_view.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <pybind11/chrono.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Utils.hpp>
#include <torch/csrc/distributed/c10d/reducer_timer.hpp>
#include <torch/csrc/utils/pybind.h>
#include <torch/library.h>
#include <torch/version.h>

#include <map>
#include <numeric>
#include <optional>
#include <set>

namespace software {
namespace {

using at::Tensor;
using c10::intrusive_ptr;
using c10d::OpType;
using c10d::ReduceOp;
using c10d::Work;
using TensorLists = std::vector<Tensors>;

bool is_float8(at::ScalarType type) {
  return type == at::kFloat8_e4m3fn || type == at::kFloat8_e5m2 || type == at::kFloat8_e4m3fnuz ||
         type == at::kFloat8_e5m2fnuz;
}

double largest_float8(at::ScalarType type) {
  return type == at::kFloat8_e4m3fn ? 448 : type == at::kFloat8_e4m3fnuz ? 240 : 57344;
}

[[noreturn]] void refuse_argument(const std::string& why) {  // in NCCL's words
  C10_THROW_ERROR(DistBackendError, "NCCL error: invalid argument (run with NCCL_DEBUG=WARN for details)\n"
                                    "ncclInvalidArgument: Invalid value for an argument.\nLast error:\n" + why);
}

// The tensor on the host in a dtype of gloo's; other dtypes are sent as bytes.
Tensor in_gloos_type(const Tensor& tensor) {
  Tensor host = host_view(tensor);
  if (host.is_complex()) host = at::view_as_real(host);
  bool is_bytes = host.scalar_type() == at::kBool || is_float8(host.scalar_type());
  return is_bytes ? host.view(at::kByte) : host;
}

// NCCL accepts a whole and its part in any shapes, gloo only in one dimension.
Tensor in_memory(const Tensor& host) { return host.as_strided({host.numel()}, {1}); }

void check_parts(const Tensor& input, const Tensor& output, const char* message) {
  TORCH_CHECK_TYPE(input.scalar_type() == output.scalar_type(), message);
}

// The checks of ProcessGroupNCCL::gather and scatter, of the lists that the root alone gives: "output" or "input".
void check_lists(const char* name, const char* list, int root, int rank, int size, const TensorLists& lists) {
  auto refuse = [name](const std::string& why) {
    C10_THROW_ERROR(ValueError, c10::str("ProcessGroupNCCL::", name, ": ", why));
  };
  c10d::assertRootRank(refuse, root, size);
  if (rank != root && !lists.empty()) refuse(c10::str("requires empty ", list, " on non-root"));
  if (rank != root) return;
  if (lists.size() != 1)
    refuse(c10::str("requires a single-element ", list, " list containing a list with ", size, " tensors."));
  if (lists[0].size() != size_t(size))
    refuse(c10::str("Incorrect ", list, " list size ", lists[0].size(), ". ", list[0] == 'o' ? "Output" : "Input",
                    " list size should be ", size, ", same as size of the process group."));
}

Tensors flat(const TensorLists& lists) {
  Tensors all;
  for (const Tensors& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

bool same_size(const Tensors& tensors) {
  return std::all_of(tensors.begin(), tensors.end(), [&](auto& each) { return each.numel() == tensors[0].numel(); });
}

using Premultiplied = c10d::NCCLPreMulSumSupplement;  // the name that every release has

// A reduction by gloo's operations: the input is multiplied, the output divided. Eight bits are reduced in half
// precision and rounded at the end, as by NCCL's symmetric kernels; its rings round after each rank.
class Reduction {
 public:
  inline static bool refuses_float8 = false;

  Reduction(const ReduceOp& wanted, const Tensor& sample, int size, bool as_nccl) : op(wanted.op_) {
    bool is_bool = sample.scalar_type() == at::kBool;
    if (as_nccl) refuse_what_nccl_refuses(sample.scalar_type());
    if (is_float8(sample.scalar_type())) float8_ = sample.scalar_type();
    if (op == ReduceOp::PREMUL_SUM) {
      auto* factor = static_cast<const Premultiplied*>(wanted.supplement_.get());
      factor_ = factor->tensor_factor.defined() ? host_view(factor->tensor_factor) : at::scalar_tensor(factor->double_factor, at::kDouble);
      op = ReduceOp::SUM;
    } else if (op == ReduceOp::AVG) {  // as NCCL: floating-point numbers are multiplied before, integers divided after
      if (at::isIntegralType(sample.scalar_type(), true)) divisor_ = size;
      else factor_ = at::scalar_tensor(1.0 / size, at::kDouble).to(float8_.value_or(at::kDouble));
      op = ReduceOp::SUM;
    }
    if (is_bool && op == ReduceOp::SUM) op = ReduceOp::MAX;
    if (is_bool && op == ReduceOp::PRODUCT) op = ReduceOp::MIN;
  }

  // Leaves the tensor as it is.
  Tensor scaled(const Tensor& host) const {
    if (!float8_) return factor_.defined() ? host.mul(factor_).to(host.scalar_type()) : host;
    Tensor wide = host.view(*float8_).to(at::kHalf);
    return factor_.defined() ? rounded(wide.mul(factor_.to(at::kHalf)), *float8_).to(at::kHalf) : wide;
  }
  Tensor scale(Tensor host) const {
    if (float8_) return scaled(host);
    return factor_.defined() ? host.mul_(factor_) : host;
  }
  // What gloo writes the result to, from which `ending` brings it to the tensor.
  Tensor place(const Tensor& host) const { return float8_ ? at::empty(host.sizes(), at::kHalf) : host; }
  std::function<void()> ending(const Tensor& output, const Tensor& result) const {
    if (!divisor_ && result.is_same(output)) return {};
    return [output, result, divisor = divisor_, float8 = float8_]() {
      if (divisor) result.div_(divisor, "trunc");
      if (float8) output.view(*float8).copy_(rounded(result, *float8));
      else if (!result.is_same(output)) output.copy_(result);
    };
  }

  ReduceOp::RedOpType op;

 private:
  void refuse_what_nccl_refuses(at::ScalarType type) const {
    const char* name = op == ReduceOp::BAND ? "BAND" : op == ReduceOp::BOR ? "BOR" : op == ReduceOp::BXOR ? "BXOR" : nullptr;
    TORCH_CHECK_VALUE(!name, "Cannot use ReduceOp.", name ? name : "", " with NCCL");
    TORCH_CHECK_TYPE(type != at::kBool || op != ReduceOp::AVG, "Cannot use ReduceOp.AVG with Boolean inputs");
    bool takes_factor = type == at::kHalf || type == at::kFloat || type == at::kBFloat16 || type == at::kDouble;
    TORCH_CHECK_TYPE(op != ReduceOp::PREMUL_SUM || takes_factor,
                     "PreMulSum Data type must be half, float, bfloat16 or double");
    if (!is_float8(type)) return;
#if TORCH_VERSION_MINOR < 8
    TORCH_CHECK(false, "Float8 dtypes are not currenlty supported for NCCL reductions");
#endif
    TORCH_CHECK(type == at::kFloat8_e4m3fn || type == at::kFloat8_e5m2, "Unsupported Float8 type for NCCL reduction");
    if (refuses_float8) refuse_argument("FP8 reduction support begins with sm90 capable devices.");
  }
  static Tensor rounded(const Tensor& wide, at::ScalarType float8) {  // to finite numbers, as by NCCL
    return wide.clamp(-largest_float8(float8), largest_float8(float8)).to(float8);
  }

  std::optional<at::ScalarType> float8_;
  Tensor factor_;
  int divisor_ = 0;
};

template <class Group>
intrusive_ptr<c10d::Backend::Options> options_of(Group& group) {
  if constexpr (requires { group.getBackendOptions(); }) return group.getBackendOptions();
  else return nullptr;
}

template <class Group>
void set_timeout_of(Group& group, std::chrono::milliseconds timeout) {
  if constexpr (requires { group.setTimeout(timeout); }) group.setTimeout(timeout);
}

class HostBackend final : public c10d::Backend {
 public:
  // Called from Python: the group's options, and the creation of a group of some of its ranks.
  struct Python {
    py::object options, make;
  };

  HostBackend(intrusive_ptr<Backend> inner, std::string name, Python python, std::chrono::milliseconds timeout)
      : Backend(inner->getRank(), inner->getSize()), inner_(std::move(inner)), name_(std::move(name)),
        timeout_(timeout),
        python_(new Python(std::move(python)), [](Python* last) {
          py::gil_scoped_acquire gil;
          delete last;
        }) {
    if (!python_->options.is_none()) options_ = python_->options.cast<intrusive_ptr<Options>>();
    communicator_->is_nccls = is_nccl();
    std::lock_guard<std::mutex> lock(groups_mutex());
    groups().insert(this);
  }
  ~HostBackend() override {
    {
      std::lock_guard<std::mutex> lock(groups_mutex());
      groups().erase(this);
    }
    std::optional<py::gil_scoped_release> released;  // while the threads of the other backend end
    if (PyGILState_Check()) released.emplace();
    inner_.reset();
  }

  // A group that the program has not destroyed is leaked: destroying it at the interpreter's end would wait for peers.
  static void keep_all() {
    std::lock_guard<std::mutex> lock(groups_mutex());
    for (HostBackend* group : groups()) intrusive_ptr<HostBackend>::reclaim_copy(group).release();
  }

  const std::string getBackendName() const override { return name_; }
  // These override nothing before torch 2.9, which calls none of them.
  intrusive_ptr<Options> getBackendOptions() { return options_ ? options_ : options_of(*inner_); }
  void setTimeout(std::chrono::milliseconds timeout) {
    timeout_ = timeout;
    set_timeout_of(*inner_, timeout);
    if (options_) options_->timeout = timeout;
  }
  intrusive_ptr<Backend> split(const intrusive_ptr<c10d::Store>& store, const std::vector<int>& ranks,
                               const intrusive_ptr<Options>& options) {
    communicator_->splits++;
    auto place = std::find(ranks.begin(), ranks.end(), getRank());
    if (place == ranks.end()) return nullptr;
    py::gil_scoped_acquire gil;
    return python_->make(store, place - ranks.begin(), ranks.size(), options).cast<intrusive_ptr<Backend>>();
  }

  void setSequenceNumberForGroup() override { inner_->setSequenceNumberForGroup(); }
  uint64_t getSequenceNumberForGroup() override {
    return is_nccl() ? communicator_->collectives.load() : inner_->getSequenceNumberForGroup();
  }
  c10d::ErrorType getError() override { return c10d::ErrorType::SUCCESS; }
  void enableCollectivesTiming() override { inner_->enableCollectivesTiming(); }
  void registerOnCompletionHook(Hook&& hook) override {
    TORCH_CHECK(!onCompletionHook_, "ProcessGroupNCCL OnCompletion hook already registered");
    TORCH_CHECK_VALUE(c10d::getCvarBool({"TORCH_NCCL_ENABLE_TIMING"}, false),
                      "ProcessGroupNCCL OnCompletion hook requires recording start and end events which require setting "
                      "TORCH_NCCL_ENABLE_TIMING environment variable. This is only available for NCCL version >= 2.4.");
    onCompletionHook_ = std::move(hook);
  }
  void waitForPendingWorks() override { Pending::settle(); }
  void shutdown() override { communicator_->closed = true; }
  void abort() override { communicator_->closed = communicator_->aborted = true; }
  void eagerConnectSingleDevice(at::Device) override { communicator_->is_made = true; }
  Communicator& communicator() const { return *communicator_; }
  void check_for_nan(bool wanted) { checks_nan_ = wanted; }
  void tell_devices(std::vector<int64_t> identities) { devices_ = std::move(identities); }

  const py::object& python_options() const { return python_->options; }

  bool supportsSplitting() const override { return true; }

  bool supportsCoalescing() const override { return true; }
  void startCoalescing() override { coalesced_.emplace(); }
  intrusive_ptr<Work> endCoalescing() override {
    Coalesced all = std::move(coalesced_.value());
    coalesced_.reset();
    return begun(OpType::COALESCED, std::move(all.parts), std::move(all.results), {}, all.tell);
  }

  intrusive_ptr<Work> broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override {
    refuse_unless_rank("Broadcast", "root", options.rootRank);
    only_reads_ = options.rootRank == getRank();
    Tensors host = only_reads_ ? sent(tensors) : checked(tensors);
    return begun(OpType::BROADCAST, {other(tensors).broadcast(host, options)}, tensors);
  }
  intrusive_ptr<Work> allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override {
    return each(tensors, [&](Tensor& tensor) {
      Reduction reduction(options.reduceOp, tensor, getSize(), is_nccl());
      Tensor own = sent({tensor})[0];
      Tensors host{reduction.scale(own)};
      c10d::AllreduceOptions with = options;
      with.reduceOp = reduction.op;
      auto work = other({tensor}).allreduce(host, with);
      return begun(OpType::ALLREDUCE, {work}, {tensor}, reduction.ending(own, host[0]));
    });
  }
  intrusive_ptr<Work> allreduce_coalesced(Tensors& tensors, const c10d::AllreduceCoalescedOptions& options) override {
    return allreduce(tensors, options);
  }
  intrusive_ptr<Work> allreduce_sparse(Tensors& tensors, const c10d::AllreduceOptions& options) override {
    if (!is_nccl()) return Backend::allreduce_sparse(tensors, options);
    C10_THROW_ERROR(Error, "NCCL does not support all_reduce with sparse tensors. Please use dense tensors instead.");
  }
  // Only the root's tensor changes, so the others send a copy.
  intrusive_ptr<Work> reduce(Tensors& tensors, const c10d::ReduceOptions& options) override {
    refuse_unless_rank("Reduce", "root", options.rootRank);
    Reduction reduction(options.reduceOp, tensors[0], getSize(), is_nccl());
    Tensor own = sent(tensors)[0];
    Tensors host{reduction.scaled(own)};
    if (host[0].is_same(own)) host[0] = own.clone();
    c10d::ReduceOptions with = options;
    with.reduceOp = reduction.op;
    auto work = other(tensors).reduce(host, with);
    only_reads_ = options.rootRank != getRank();
    if (only_reads_) return begun(OpType::REDUCE, {work}, tensors);
    return begun(OpType::REDUCE, {work}, tensors, reduction.ending(own, host[0]));
  }
  intrusive_ptr<Work> allgather(TensorLists& outputs, Tensors& inputs, const c10d::AllgatherOptions& options) override {
    TensorLists host_outputs = carried(outputs);
    Tensors host_inputs = sent(inputs);
    if (!same_size(outputs[0])) return gathered_one_by_one(host_outputs[0], host_inputs[0], outputs[0]);
    return begun(OpType::ALLGATHER, {other(inputs).allgather(host_outputs, host_inputs, options)}, flat(outputs));
  }
  intrusive_ptr<Work> _allgather_base(Tensor& output, Tensor& input, const c10d::AllgatherOptions& options) override {
    check_parts(input, output, "output tensor must have the same type as input tensor");
    TORCH_CHECK_VALUE(input.numel() * getSize() == output.numel(),
                      "output tensor size must be equal to world_size times input tensor size");
    Tensor host_output = in_memory(checked({output})[0]), host_input = in_memory(sent({input})[0]);
    return begun(OpType::_ALLGATHER_BASE, {other({input})._allgather_base(host_output, host_input, options)}, {output});
  }
  intrusive_ptr<Work> allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                      const c10d::AllgatherOptions& options) override {
    return each(outputs, inputs, [&](Tensor& output, Tensor& input) { return _allgather_base(output, input, options); });
  }
  intrusive_ptr<Work> gather(TensorLists& outputs, Tensors& inputs, const c10d::GatherOptions& options) override {
    if (is_nccl()) check_lists("gather", "output", options.rootRank, getRank(), getSize(), outputs);
    TensorLists host_outputs = carried(outputs);
    Tensors host_inputs = sent(inputs);
    return begun(OpType::GATHER, {other(inputs).gather(host_outputs, host_inputs, options)}, flat(outputs));
  }
  intrusive_ptr<Work> scatter(Tensors& outputs, TensorLists& inputs, const c10d::ScatterOptions& options) override {
    if (is_nccl()) check_lists("scatter", "input", options.rootRank, getRank(), getSize(), inputs);
    Tensors host_outputs = checked(outputs);
    TensorLists host_inputs = carried(inputs);
    return begun(OpType::SCATTER, {other(outputs).scatter(host_outputs, host_inputs, options)}, outputs);
  }
  intrusive_ptr<Work> reduce_scatter(Tensors& outputs, TensorLists& inputs,
                                     const c10d::ReduceScatterOptions& options) override {
    if (!same_size(inputs[0])) return scattered_one_by_one(outputs[0], inputs[0], options);
    Reduction reduction(options.reduceOp, outputs[0], getSize(), is_nccl());
    Tensor own = checked(outputs)[0];
    Tensors host{reduction.place(own)};
    TensorLists host_inputs{{}};
    for (Tensor& input : sent(inputs[0])) host_inputs[0].push_back(reduction.scaled(input));
    c10d::ReduceScatterOptions with = options;
    with.reduceOp = reduction.op;
    auto work = other(outputs).reduce_scatter(host, host_inputs, with);
    return begun(OpType::REDUCE_SCATTER, {work}, outputs, reduction.ending(own, host[0]));
  }
  intrusive_ptr<Work> _reduce_scatter_base(Tensor& output, Tensor& input,
                                           const c10d::ReduceScatterOptions& options) override {
    check_parts(input, output, "input tensor must be the same type as the output tensor.");
    TORCH_CHECK_VALUE(input.numel() == output.numel() * getSize(),
                      "input tensor must be the same size as output size times world size");
    Reduction reduction(options.reduceOp, output, getSize(), is_nccl());
    Tensor host_input = in_memory(reduction.scaled(sent({input})[0])), own = in_memory(checked({output})[0]);
    Tensor host = reduction.place(own);
    c10d::ReduceScatterOptions with = options;
    with.reduceOp = reduction.op;
    auto work = other({output})._reduce_scatter_base(host, host_input, with);
    return begun(OpType::_REDUCE_SCATTER_BASE, {work}, {output}, reduction.ending(own, host));
  }
  intrusive_ptr<Work> reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                      const c10d::ReduceScatterOptions& options) override {
    return each(outputs, inputs,
                [&](Tensor& output, Tensor& input) { return _reduce_scatter_base(output, input, options); });
  }
  intrusive_ptr<Work> alltoall_base(Tensor& output, Tensor& input, std::vector<int64_t>& output_splits,
                                    std::vector<int64_t>& input_splits, const c10d::AllToAllOptions& options) override {
    c10d::checkSplitSizes(input_splits, input, getSize());  // before anything is queued
    c10d::checkSplitSizes(output_splits, output, getSize());
    Tensor host_output = checked({output})[0], host_input = sent({input})[0];
    auto work = other({input}).alltoall_base(host_output, host_input, output_splits, input_splits, options);
    return begun(OpType::ALLTOALL_BASE, {work}, {output});
  }
  intrusive_ptr<Work> alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& options) override {
    Tensors host_outputs = checked(outputs), host_inputs = sent(inputs);
    std::vector<int64_t> output_splits, input_splits;
    Tensors pieces;
    for (Tensor& each : host_inputs) pieces.push_back(each.reshape({-1})), input_splits.push_back(each.numel());
    for (Tensor& each : host_outputs) output_splits.push_back(each.numel());
    Tensor sent = at::cat(pieces);
    Tensor received = at::empty({std::accumulate(output_splits.begin(), output_splits.end(), int64_t(0))}, sent.options());
    auto splits = output_splits;  // which gloo moves from
    auto work = other(inputs).alltoall_base(received, sent, splits, input_splits, options);
    return begun(OpType::ALLTOALL, {work}, outputs, [host_outputs, received, output_splits]() mutable {
      Tensors parts = received.split_with_sizes(output_splits);
      for (size_t i = 0; i < parts.size(); i++) host_outputs[i].copy_(parts[i].view(host_outputs[i].sizes()));
    });
  }
  // NCCL has no tags: messages from one rank to another arrive in order.
  intrusive_ptr<Work> send(Tensors& tensors, int target, int tag) override {
    refuse_unless_rank("Send", "peer", target);
    Tensors host = sent(tensors);
    only_reads_ = true;
    return begun(OpType::SEND, {other().send(host, target, is_nccl() ? 0 : tag)}, tensors, {}, false);
  }
  intrusive_ptr<Work> recv(Tensors& tensors, int source, int tag) override {
    refuse_unless_rank("Recv", "peer", source);
    Tensors host = checked(tensors);
    return begun(OpType::RECV, {other().recv(host, source, is_nccl() ? 0 : tag)}, tensors, {}, false, source);
  }
  intrusive_ptr<Work> recvAnysource(Tensors& tensors, int tag) override {
    TORCH_CHECK(!is_nccl(), "Backend nccl does not support recvAnysource");
    Tensors host = checked(tensors);
    return begun(OpType::RECVANYSOURCE, {other().recvAnysource(host, tag)}, tensors, {}, false);
  }
  intrusive_ptr<Work> barrier(const c10d::BarrierOptions& options) override {
    return begun(OpType::BARRIER, {other().barrier(options)}, {});
  }

 private:
  struct Memory {
    explicit Memory(const Tensor& tensor)
        : begin(static_cast<const char*>(tensor.const_data_ptr())), end(begin + tensor.nbytes()) {}
    const char *begin, *end;
  };
  struct Running {
    bool overlaps(const Memory& memory) const {
      return std::any_of(memories.begin(), memories.end(),
                         [&](auto& each) { return each.begin < memory.end && memory.begin < each.end; });
    }
    c10::weak_intrusive_ptr<HostWork> work;  // whose tensors it does not keep
    std::vector<Memory> memories;
  };
  struct Coalesced {
    HostWork::Parts parts;
    Tensors results;
    bool tell = true;
  };

  bool is_nccl() const { return name_ == "nccl"; }

  // On a GPU a group's collectives follow one another on its stream; gloo's run at the same time. Those on one memory
  // wait here for one another.
  Tensor carried(const Tensor& tensor) {
    TORCH_CHECK_VALUE(!is_nccl() || !tensor.is_cpu(), "Tensors must be CUDA and dense");
    Memory memory{tensor};
    for (Running& each : running())
      if (auto work = each.work.lock(); work && each.overlaps(memory)) work->synchronize();
    touched_.push_back(tensor);
    return in_gloos_type(tensor);
  }
  Tensors carried(const Tensors& tensors) {
    Tensors all;
    for (const Tensor& tensor : tensors) all.push_back(carried(tensor));
    return all;
  }
  TensorLists carried(const TensorLists& lists) {
    TensorLists all;
    for (const Tensors& list : lists) all.push_back(carried(list));
    return all;
  }
  std::vector<Running> running() {
    std::lock_guard<std::mutex> lock(running_mutex_);
    auto ended = [](Running& each) {
      auto work = each.work.lock();
      return !work || work->has_ended();
    };
    running_.erase(std::remove_if(running_.begin(), running_.end(), ended), running_.end());
    return running_;
  }
  void runs(const intrusive_ptr<HostWork>& work) {
    std::lock_guard<std::mutex> lock(running_mutex_);
    running_.push_back({c10::weak_intrusive_ptr<HostWork>(work), {touched_.begin(), touched_.end()}});
  }

  // The tensors as gloo accepts them; what NCCL would refuse is refused.
  Tensors checked(const Tensors& tensors) {
    for (const Tensor& tensor : tensors) {
      TORCH_CHECK_VALUE(tensor.layout() == at::kStrided, "Tensors must be CUDA and dense");
      TORCH_CHECK_VALUE(tensor.is_contiguous(tensor.suggest_memory_format()), "Tensors must be contiguous");
      TORCH_CHECK_TYPE(!is_nccl() || known(tensor.scalar_type()),
                       "Input tensor data type is not supported for NCCL process group: ", tensor.scalar_type());
    }
    return carried(tensors);
  }
  // TORCH_NCCL_NAN_CHECK=1
  Tensors sent(const Tensors& tensors) {
    for (const Tensor& tensor : tensors) {
      if (!checks_nan_ || !at::isFloatingType(tensor.scalar_type())) continue;
      Tensor comparable = is_float8(tensor.scalar_type()) ? tensor.to(at::kFloat) : tensor;
      at::_assert_async(at::isnan(comparable).any().logical_not());
    }
    return checked(tensors);
  }
  // NCCL's words; gloo would wait for a rank that does not exist.
  void refuse_unless_rank(const char* call, const char* what, int64_t rank) const {
    if (!is_nccl() || (rank >= 0 && rank < getSize())) return;
    refuse_argument(c10::str(call, " : invalid ", what, " ", rank, " (", what, " should be in the 0..", getSize(), " range)"));
  }
  static bool known(at::ScalarType type) {
    return type != at::kShort && type != at::kUInt16 && type != at::kUInt32 && type != at::kUInt64;
  }

  // The other backend, for a collective.
  Backend& other() {
    if (is_nccl() && communicator_->closed)
      C10_THROW_ERROR(DistBackendError, c10::str("NCCL communicator was aborted on rank ", getRank(), "."));
    communicator_->is_made = true;
    if (is_nccl() && !absent_ && Absent::begins && Absent::begins())
      absent_ = c10::make_intrusive<Absent>(getRank(), getSize(), timeout_);
    return absent_ ? *absent_ : *inner_;
  }

  Backend& other(const Tensors& tensors) {
    Backend& found = other();
    if (!std::exchange(met_, true) && !devices_.empty() && getSize() > 1) meet(size_t(tensors[0].device().index()));
    return found;
  }

  // As ncclCommInitRank: the ranks come together, each on a device of its own.
  void meet(size_t index) {
    Tensors own{at::full({1}, devices_.at(index), at::kLong)}, all;
    for (int rank = 0; rank < getSize(); rank++) all.push_back(at::empty_like(own[0]));
    TensorLists gathered{all};
    inner_->allgather(gathered, own)->wait();
    std::map<int64_t, int> ranks;
    for (int rank = 0; rank < getSize(); rank++) {
      auto [first, is_new] = ranks.emplace(all[size_t(rank)].item<int64_t>(), rank);
      if (!is_new) refuse_shared_device(rank, first->second);
    }
  }
  [[noreturn]] static void refuse_shared_device(int rank, int other) {
    C10_THROW_ERROR(DistBackendError, c10::str(
        "NCCL error: invalid usage (run with NCCL_DEBUG=WARN for details)\nncclInvalidUsage: This usually reflects "
        "invalid usage of NCCL library.\nLast error:\nDuplicate GPU detected : rank ", rank, " and rank ", other,
        " both on one CUDA device (MORPH_DEVICES is the number of devices, torch.cuda.set_device chooses one)"));
  }

  intrusive_ptr<Work> begun(OpType operation, HostWork::Parts parts, Tensors results, std::function<void()> finish = {},
                            bool tells = true, int source = -1) {
    auto work = c10::make_intrusive<HostWork>(std::move(parts), std::move(results), std::move(finish), tells, source);
    if (!coalesced_) {
      work->belongs_to(communicator_, operation, onCompletionHook_);
      if (order.queue) queue(operation, *work);
      if (tells) runs(work), communicator_->collectives++;  // messages to different ranks have streams of their own
      work->keep(std::exchange(touched_, {}));
      return Pending::begin(work, tells);
    }
    coalesced_->parts.push_back(work);
    coalesced_->tell = coalesced_->tell && tells;
    for (const Tensor& tensor : work->result()) coalesced_->results.push_back(tensor);
    return work;
  }

  void queue(OpType operation, HostWork& work) {
    bool only_reads = std::exchange(only_reads_, false);
    auto moment = order.queue(c10d::opTypeToString(operation), communicator_->number, touched_,
                              only_reads ? Tensors() : work.result());
    if (moment) work.comes_at(std::move(moment), touched_[0].device().index());
  }

  // The same for each tensor in turn, as one work object.
  template <typename Do>
  intrusive_ptr<Work> each(Tensors& tensors, Do one) {
    if (tensors.size() == 1) return one(tensors[0]);
    return together([&] {
      for (Tensor& tensor : tensors) one(tensor);
    });
  }
  template <typename Do>
  intrusive_ptr<Work> each(Tensors& outputs, Tensors& inputs, Do one) {
    return together([&] {
      for (size_t i = 0; i < outputs.size(); i++) one(outputs[i], inputs[i]);
    });
  }
  intrusive_ptr<Work> together(const std::function<void()>& begin_all) {
    std::optional<Coalesced> outer = std::exchange(coalesced_, Coalesced());
    begin_all();
    Coalesced all = std::move(coalesced_.value());
    coalesced_ = std::move(outer);
    return begun(OpType::COALESCED, std::move(all.parts), std::move(all.results), {}, all.tell);
  }

  intrusive_ptr<Work> gathered_one_by_one(Tensors& host_outputs, const Tensor& host_input, const Tensors& outputs) {
    host_outputs[size_t(getRank())].copy_(host_input.view(host_outputs[size_t(getRank())].sizes()));
    HostWork::Parts parts;
    for (int rank = 0; rank < getSize(); rank++) {
      Tensors host{host_outputs[size_t(rank)]};
      c10d::BroadcastOptions options;
      options.rootRank = rank;
      parts.push_back(other(outputs).broadcast(host, options));
    }
    return begun(OpType::ALLGATHER, std::move(parts), outputs);
  }
  intrusive_ptr<Work> scattered_one_by_one(Tensor& output, Tensors& inputs, const c10d::ReduceScatterOptions& options) {
    carried(inputs), carried(output);  // what writes them ends before
    return together([&] {
      for (int rank = 0; rank < getSize(); rank++) {
        bool own = rank == getRank();
        if (own) host_view(output).copy_(host_view(inputs[size_t(rank)]).view(output.sizes()));
        Tensors part{own ? output : inputs[size_t(rank)]};
        c10d::ReduceOptions to;
        to.reduceOp = options.reduceOp, to.rootRank = rank;
        reduce(part, to);
      }
    });
  }

  static std::mutex& groups_mutex() {
    static auto& only = *new std::mutex;
    return only;
  }
  static std::set<HostBackend*>& groups() {
    static auto& only = *new std::set<HostBackend*>;
    return only;
  }

  intrusive_ptr<Backend> inner_, absent_;  // the second once a collective does not end: none after it does
  std::string name_;
  std::chrono::milliseconds timeout_;
  std::shared_ptr<Python> python_;
  intrusive_ptr<Options> options_;
  std::optional<Coalesced> coalesced_;
  std::vector<int64_t> devices_;  // what each of the process's is among those of all hosts
  bool met_ = false;
  Tensors touched_;  // by the collective that begins
  bool only_reads_ = false;
  std::mutex running_mutex_;
  std::vector<Running> running_;
  bool checks_nan_ = c10::utils::check_env("TORCH_NCCL_NAN_CHECK").value_or(false);
  std::shared_ptr<Communicator> communicator_ = std::make_shared<Communicator>();
};

// DDP measures its passes with a timer; torch has one for the CPU, and a build with CUDA has one for CUDA.
class HostTimer final : public c10d::Timer {
 public:
  explicit HostTimer(c10::Device) {}
  std::optional<int64_t> measureDifference(Event start, Event end) override {
    int64_t from = getTimeRef(start), to = getTimeRef(end);
    return to < from ? std::nullopt : std::optional(to - from);
  }
};

void give_timer() {  // replaces that of a build with CUDA
  auto make = [](c10::Device device) { return std::unique_ptr<c10d::Timer>(new HostTimer(device)); };
  static std::once_flag once;
  std::call_once(once, [&] { c10d::TimerRegistry()->Register(c10::kCUDA, make, c10::REGISTRY_PREFERRED); });
}

intrusive_ptr<HostBackend> over(const intrusive_ptr<c10d::Backend>& inner, const std::string& name,
                                const py::object& options, const py::object& make, std::chrono::milliseconds timeout) {
  return c10::make_intrusive<HostBackend>(inner, name, HostBackend::Python{options, make}, timeout);
}

// A group whose backend for PrivateUse1 is another group's backend for XPU.
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

// torch's kernels of c10d for PrivateUse1 depend on the device in one place only: which backend of the group they call.
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
  using software::HostBackend;
  py::class_<HostBackend, c10d::Backend, c10::intrusive_ptr<HostBackend>>(module, "HostBackend")
      .def_property_readonly("options", &HostBackend::python_options)
      .def_property_readonly("uid", [](const HostBackend& group) { return group.communicator().number; })
      .def("get_error", &HostBackend::getError)
      .def_property_readonly("bound_device_id", &HostBackend::getBoundDeviceId)
      .def("comm_split_count", [](const HostBackend& group) { return group.communicator().splits.load(); })
      .def("perform_nocolor_split", [](const HostBackend& group, const py::object&) { group.communicator().splits++; })
      .def("_set_enable_nan_check", &HostBackend::check_for_nan)
      .def("tell_devices", &HostBackend::tell_devices)
      .def("_is_initialized", [](const HostBackend& group) { return group.communicator().is_made.load(); })
      .def("_verify_work_timeout", [](const HostBackend&, const py::object&, const py::object&) { return true; })
      .def("_wait_for_pending_works", &HostBackend::waitForPendingWorks, py::call_guard<py::gil_scoped_release>());
  module.def("over", &software::over);
  module.def("tell_order", [](size_t queue, size_t await) {
    software::order.queue = reinterpret_cast<decltype(software::Order::queue)>(queue);
    software::order.await = reinterpret_cast<decltype(software::Order::await)>(await);
  });
  module.def("tell_hidden", [](size_t usable) {
    software::usable_address = reinterpret_cast<decltype(software::usable_address)>(usable);
  });
  module.def("refuse_float8", [] { software::Reduction::refuses_float8 = true; });
  module.def("expect_absence", [](py::function decide) {
    auto* kept = new py::function(std::move(decide));  // never dropped: threads may ask until the process ends
    software::Absent::begins = [kept] {
      py::gil_scoped_acquire gil;
      return (*kept)().cast<bool>();
    };
  });
  module.def("settle", &software::Pending::settle, py::call_guard<py::gil_scoped_release>());
  module.def("keep_groups", &software::HostBackend::keep_all);
  module.def("serve_xpu", &software::serve_xpu);
  software::give_timer();  // last: registered twice, by a copy loaded after one that failed, it ends the process
}
