// Hooks of torch's profilers: events around operators, and NVTX marks, which are ignored.
#include "device/activities.h"
#include "device/clock.h"

#include <c10/util/ApproximateClock.h>
#include <torch/csrc/profiler/stubs/base.h>

namespace software {
namespace {

using torch::profiler::impl::ProfilerVoidEventStub;

bool recorded = false;

Clock::time_point time_of(const ProfilerVoidEventStub* event) {
  return *static_cast<const Clock::time_point*>(event->get());
}

struct Stubs final : torch::profiler::impl::ProfilerStubs {
  void record(c10::DeviceIndex* index, ProfilerVoidEventStub* event, int64_t* host_time) const override {
    c10::DeviceIndex current = current_device();
    if (index) *index = current;
    if (host_time) *host_time = c10::getTime();
    *event = std::make_shared<Clock::time_point>(std::max(Clock::now(), idle_at(current_stream(current))));
  }
  float elapsed(const ProfilerVoidEventStub* from, const ProfilerVoidEventStub* to) const override {
    wait_until(std::max(time_of(from), time_of(to)));
    return std::chrono::duration<float, std::micro>(time_of(to) - time_of(from)).count();
  }
  void mark(const char*) const override {}
  void rangePush(const char*) const override {}
  void rangePop() const override {}
  bool enabled() const override { return true; }
  void onEachDevice(std::function<void(int)> act) const override {
    for (c10::DeviceIndex i = 0; i < settings().count; i++) {
      OnDevice on(i);
      act(i);
    }
  }
  void synchronize() const override { wait_for_device(current_device()); }
};

}  // namespace

void install_profiler() {
  if (settings().type == c10::DeviceType::CUDA) torch::profiler::impl::registerCUDAMethods(new Stubs);
  recorded = install_kineto();
}

bool records_activities() { return recorded; }

}  // namespace software
