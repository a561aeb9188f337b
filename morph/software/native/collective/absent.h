// Collectives that a fault on purpose (`--inject nccl-timeout`) keeps from ending.
#pragma once

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <functional>
#include <thread>

namespace software {

// Ends when its group's timeout has passed, as one of gloo's whose peer never comes.
class Endless final : public c10d::Work {
 public:
  static c10::intrusive_ptr<c10d::Work> begin(std::chrono::milliseconds timeout) {
    auto work = c10::make_intrusive<Endless>();
    std::thread([work, timeout] {
      std::this_thread::sleep_for(timeout);
      auto words = c10::str("Timed out waiting ", timeout.count(), "ms for recv operation to complete");
      work->finish(std::make_exception_ptr(std::runtime_error(words)));
    }).detach();
    return work;
  }
};

// Takes the place of a group's backend: the other ranks hear nothing of this one any more.
class Absent final : public c10d::Backend {
  using Begun = c10::intrusive_ptr<c10d::Work>;
  using Tensor = at::Tensor;
  using Tensors = std::vector<at::Tensor>;
  using Lists = std::vector<Tensors>;
  using Splits = std::vector<int64_t>;

 public:
  inline static std::function<bool()> begins;  // whether the collective that begins is one that does not end

  Absent(int rank, int size, std::chrono::milliseconds timeout) : Backend(rank, size), timeout_(timeout) {}

  Begun broadcast(Tensors&, const c10d::BroadcastOptions&) override { return endless(); }
  Begun allreduce(Tensors&, const c10d::AllreduceOptions&) override { return endless(); }
  Begun reduce(Tensors&, const c10d::ReduceOptions&) override { return endless(); }
  Begun allgather(Lists&, Tensors&, const c10d::AllgatherOptions&) override { return endless(); }
  Begun _allgather_base(Tensor&, Tensor&, const c10d::AllgatherOptions&) override { return endless(); }
  Begun gather(Lists&, Tensors&, const c10d::GatherOptions&) override { return endless(); }
  Begun scatter(Tensors&, Lists&, const c10d::ScatterOptions&) override { return endless(); }
  Begun reduce_scatter(Tensors&, Lists&, const c10d::ReduceScatterOptions&) override { return endless(); }
  Begun _reduce_scatter_base(Tensor&, Tensor&, const c10d::ReduceScatterOptions&) override { return endless(); }
  Begun alltoall_base(Tensor&, Tensor&, Splits&, Splits&, const c10d::AllToAllOptions&) override { return endless(); }
  Begun send(Tensors&, int, int) override { return endless(); }
  Begun recv(Tensors&, int, int) override { return endless(); }
  Begun barrier(const c10d::BarrierOptions&) override { return endless(); }

 private:
  Begun endless() const { return Endless::begin(timeout_); }

  const std::chrono::milliseconds timeout_;
};

}  // namespace software
