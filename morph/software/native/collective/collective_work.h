// The work of a collective on device tensors, carried out by another backend on host views of them.
#pragma once

#include <pybind11/pybind11.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include <atomic>
#include <functional>
#include <future>
#include <list>
#include <mutex>
#include <optional>

namespace software {

using Tensors = std::vector<at::Tensor>;
// For MORPH_SANITIZE=sync, the software device's functions: what a collective uses, and that somebody waits for it.
struct Order {
  using Moment = std::vector<uint64_t>;
  std::shared_ptr<const Moment> (*queue)(const std::string&, int64_t, const Tensors& read, const Tensors& written) = nullptr;
  void (*await)(const Moment&, c10::DeviceIndex, bool by_host) = nullptr;
};
inline Order order;

using Hook = std::function<void(std::shared_ptr<c10d::WorkInfo>)>;

// What NCCL's communicator of a group would be.
struct Communicator {
  Communicator() {
    static std::atomic<int64_t> made{0};
    number = made++;
  }

  int64_t number;  // among those of the process
  bool is_nccls = false;
  std::atomic<bool> is_made{false};  // by the first collective, or with the group
  std::atomic<bool> closed{false}, aborted{false};
  std::atomic<int> splits{0};
  std::atomic<uint64_t> works{0}, collectives{0};
};

// The other backend holds no Python object: its threads may release what they hold at any time, even while the
// interpreter shuts down.
class HostWork final : public c10d::Work {
  using Time = decltype(c10d::WorkInfo::timeStarted);  // of the system's clock in torch 2.7

 public:
  using Parts = std::vector<c10::intrusive_ptr<c10d::Work>>;

  HostWork(Parts parts, Tensors results, std::function<void()> finish = {}, bool tells = true, int source = -1)
      : parts_(std::move(parts)), results_(std::move(results)), finish_(std::move(finish)), tells_(tells),
        source_(source) {}

  // Its end is told to the group's hook.
  void belongs_to(std::shared_ptr<Communicator> communicator, c10d::OpType operation, Hook hook) {
    communicator_ = std::move(communicator), operation_ = operation, hook_ = std::move(hook);
    number_ = ++communicator_->works;
  }

  void comes_at(std::shared_ptr<const Order::Moment> moment, c10::DeviceIndex index) {
    moment_ = std::move(moment), index_ = index;
  }

  // What the parts read and write, of which they see the memory alone.
  void keep(Tensors tensors) { kept_ = std::move(tensors); }

  bool isCompleted() override {
    bool is_over = has_ended();
    if (is_over && moment_) order.await(*moment_, index_, true);
    return is_over;
  }
  bool has_ended() {
    if (done_) return true;
    if (!tells_) {  // gloo's sends and receives complete only when waited for
      std::lock_guard<std::mutex> lock(mutex_);
      if (!waiting_.valid()) waiting_ = std::async(std::launch::async, [parts = parts_] { wait_for(parts, kNoTimeout); });
      if (waiting_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return false;
    } else {
      for (auto& part : parts_)
        if (!part->isCompleted()) return false;
    }
    end(kNoTimeout);
    return true;
  }
  // Or failed, as somebody knows who has waited for it: it is over for the groups that come after its own.
  bool is_settled() {
    if (was_told_) return true;
    try {
      return has_ended();
    } catch (const std::exception&) {
      return false;
    }
  }
  bool was_told() const { return was_told_; }
  bool isSuccess() const override {
    TORCH_CHECK_NOT_IMPLEMENTED(false, "WorkNCCL::isSuccess() is deprecated");
  }
  std::exception_ptr exception() const override {
    for (auto& part : parts_)
      if (auto found = part->exception()) return found;
    return nullptr;
  }
  int sourceRank() const override { return source_; }
  Tensors result() override { return results_; }
  void synchronize() override { wait(kNoTimeout); }
  void blockCurrentStream() { wait(kNoTimeout); }  // overrides where torch has it (2.9)
  void abort() override {
    for (auto& part : parts_) part->abort();
  }
  bool wait(std::chrono::milliseconds timeout) override {
    try {
      end(timeout);
    } catch (const std::exception&) {
      was_told_ = tells_ && std::all_of(parts_.begin(), parts_.end(), [](auto& part) { return part->isCompleted(); });
      throw;
    }
    if (moment_) order.await(*moment_, index_, false);
    if (c10d::allow_inflight_collective_as_graph_input())
      c10d::unregister_work(c10::intrusive_ptr<Work>::unsafe_reclaim_from_nonowning(this));
    return true;
  }
  // DDP reads a reduced bucket from it. It is returned complete: callbacks run in the thread that
  // adds them, and no thread of the other backend ever holds a Python function.
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override {
    std::vector<c10::Device> devices;
    for (const at::Tensor& tensor : results_)
      if (!tensor.is_cpu()) devices = {tensor.device()};
    auto future = c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()), devices);
    wait_without_interpreter();
    future->markCompleted(c10::IValue(gathered_as_one() ? Tensors{at::stack(results_)} : results_));
    return future;
  }
  c10::intrusive_ptr<c10::ivalue::Future> getFutureResult() override {
    auto future = c10::make_intrusive<c10::ivalue::Future>(c10::IntType::get());
    wait_without_interpreter();
    future->markCompleted(c10::IValue(static_cast<int64_t>(c10d::WorkResult::SUCCESS)));
    return future;
  }

 private:
  // ProcessGroupNCCL gathers tensors of one size into a tensor that it makes, and that is what its future has.
  bool gathered_as_one() const {
    auto same = [this](const at::Tensor& each) { return each.sizes() == results_[0].sizes(); };
    return operation_ == c10d::OpType::ALLGATHER && std::all_of(results_.begin(), results_.end(), same);
  }
  // Python's binding holds the interpreter's lock here, which the other backend's threads may need.
  void wait_without_interpreter() {
    std::optional<pybind11::gil_scoped_release> released;
    if (PyGILState_Check()) released.emplace();
    wait(kNoTimeout);
  }
  void end(std::chrono::milliseconds timeout) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (done_) return;
    try {
      waiting_.valid() ? waiting_.get() : wait_for(parts_, timeout);
      if (finish_) finish_();
    } catch (const std::exception& error) {
      if (!communicator_ || !communicator_->is_nccls) throw;
      if (!communicator_->aborted) C10_THROW_ERROR(DistBackendError, error.what());
    }
    finish_ = {};
    kept_.clear();
    done_ = true;
    if (hook_) tell();
  }
  void tell() {
    auto end = Time::clock::now();
    hook_(std::make_shared<c10d::WorkInfo>(operation_, number_, begun_, end, end - begun_));
    hook_ = {};
  }
  static void wait_for(const Parts& parts, std::chrono::milliseconds timeout) {
    for (auto& part : parts) part->wait(timeout);
  }

  const Parts parts_;
  const Tensors results_;
  Tensors kept_;
  std::function<void()> finish_;
  const bool tells_;  // whether the parts notice their completion without a wait
  const int source_;
  std::mutex mutex_;
  std::future<void> waiting_;
  std::shared_ptr<Communicator> communicator_;
  c10d::OpType operation_ = c10d::OpType::UNKNOWN;
  uint64_t number_ = 0;
  const Time begun_ = Time::clock::now();
  Hook hook_;
  std::atomic<bool> done_{false}, was_told_{false};
  std::shared_ptr<const Order::Moment> moment_;  // after it on the group's stream
  c10::DeviceIndex index_ = -1;
};

// Work that was started and may not be complete: it must stay alive until then, whatever the program holds, and
// synchronizing the device completes it.
class Pending {
 public:
  static c10::intrusive_ptr<c10d::Work> begin(c10::intrusive_ptr<HostWork> work, bool tells) {
    std::lock_guard<std::mutex> lock(mutex());
    all().remove_if([](auto& each) { return each.tells && each.work->is_settled(); });
    all().push_back({work, tells});
    return work;
  }
  static void settle() {
    std::list<Begun> begun;
    {
      std::lock_guard<std::mutex> lock(mutex());
      begun.swap(all());
    }
    for (auto& each : begun)
      if (!each.work->was_told()) each.work->synchronize();
  }

 private:
  struct Begun {
    c10::intrusive_ptr<HostWork> work;
    bool tells;
  };
  static std::mutex& mutex() {
    static auto& only = *new std::mutex;
    return only;
  }
  static std::list<Begun>& all() {  // never destroyed: the threads of the other backend outlive static destruction
    static auto& only = *new std::list<Begun>;
    return only;
  }
};

}  // namespace software
