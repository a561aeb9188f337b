// The target of the seam, and counters of the calls that reach it.
#include "seam.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <pthread.h>
#include <torch/csrc/utils/device_lazy_init.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <mutex>

namespace seam {
namespace {

std::atomic<c10::DeviceType> target_type{c10::DeviceType::PrivateUse1};
std::atomic<bool> initialized{false};
std::atomic<int> expected{-1};
std::atomic<bool> is_numbered_by_local_rank{false};

struct Counter {
  std::atomic<const void*> op{nullptr};
  std::atomic<uint64_t> calls{0};
  std::string name;
};
// Open addressing over more slots than any program uses operators with a device; the last one takes the rest.
constexpr size_t slots = 1024;
std::array<Counter, slots> counters;
std::mutex counters_mutex;

Counter& claim(const c10::OperatorHandle& op, const void* key, size_t slot) {
  std::lock_guard<std::mutex> lock(counters_mutex);
  for (size_t step = 0; step < slots; ++step, slot = (slot + 1) % slots) {
    Counter& counter = counters[slot];
    if (counter.op.load() == key) return counter;
    if (counter.op.load() == nullptr) {
      counter.name = c10::toString(op.operator_name());
      counter.op.store(key);
      return counter;
    }
  }
  return counters[slots - 1];
}

std::atomic<bool> stands_for_cuda{false};

// Asked each time, as a process that is started as a function is given its rank late; -1 where there is none.
int local_rank() {
  if (!is_numbered_by_local_rank.load(std::memory_order_relaxed)) return -1;
  const char* rank = std::getenv("LOCAL_RANK");
  return rank == nullptr ? -1 : std::atoi(rank);
}

void forget_initialization() { initialized.store(false); }

// A forked child must query the vendor again, which raises its own error there; a torch built with CUDA would refuse
// CUDA itself.
void begin_child() {
  forget_initialization();
  if (stands_for_cuda) torch::utils::set_requires_device_init(c10::DeviceType::CUDA, false);
}

}  // namespace

c10::DeviceType target() { return target_type.load(std::memory_order_relaxed); }

void set_target(c10::DeviceType type) {
  static const int registered = pthread_atfork(nullptr, nullptr, begin_child);
  (void)registered;
  target_type.store(type);
  expected.store(-1);
  is_numbered_by_local_rank.store(false);
  forget_initialization();
}

bool is_numbered_by_rank() { return local_rank() >= 0; }

void number_by_local_rank() { is_numbered_by_local_rank.store(true); }

void expect_devices(int count) { expected.store(count); }

int device_count() {
  if (expected.load(std::memory_order_relaxed) >= 0) return expected.load();
  auto* guard = c10::impl::device_guard_impl_registry[static_cast<size_t>(target())].load();
  return guard == nullptr ? 0 : guard->deviceCount();
}

bool exists(c10::Device device) {
  if (device.index() < 0) return true;
  if (int own = local_rank(); own >= 0) return device.index() == own;
  return device.index() == 0 || device.index() < device_count();
}

c10::Device numbered_by_target(c10::Device device) {
  bool is_own = device.index() >= 0 && local_rank() >= 0;
  return c10::Device(target(), is_own ? c10::DeviceIndex(0) : device.index());
}

int numbered_by_cuda(c10::Device device) {
  return device.index() == 0 ? std::max(local_rank(), 0) : device.index();
}

c10::Device translate(c10::Device device) {
  if (device.type() != c10::DeviceType::CUDA) return device;
  if (device.index() < 0) return c10::Device(target());
  if (int own = local_rank(); own >= 0)
    TORCH_CHECK(exists(device), device, ": the device is another process's, this one has cuda:", own);
  TORCH_CHECK(exists(device), device, ": the device does not exist, there ", device_count() == 1 ? "is " : "are ",
              device_count(), " (", c10::DeviceTypeName(target(), true), ")");
  return numbered_by_target(device);
}

void initialize_target() {
  if (initialized.load(std::memory_order_relaxed)) return;
  torch::utils::device_lazy_init(target());
  initialized.store(true);
}

// torch initialises torch.cuda before it uses a CUDA device; here the target is initialised instead.
void engage_initialization() {
  stands_for_cuda = true;
  torch::utils::set_requires_device_init(c10::DeviceType::CUDA, false);
}

void disengage_initialization() {
  stands_for_cuda = false;
  torch::utils::set_requires_device_init(c10::DeviceType::CUDA, true);
}

void count(const c10::OperatorHandle& op) {
  const void* key = &op.operator_name();
  size_t slot = (reinterpret_cast<uintptr_t>(key) >> 6) % slots;
  Counter* counter = &counters[slot];
  if (counter->op.load(std::memory_order_acquire) != key) counter = &claim(op, key, slot);
  counter->calls.fetch_add(1, std::memory_order_relaxed);
}

std::map<std::string, uint64_t> counted() {
  std::lock_guard<std::mutex> lock(counters_mutex);
  std::map<std::string, uint64_t> calls;
  for (const Counter& counter : counters)
    if (counter.op.load() != nullptr) calls[counter.name] += counter.calls.load();
  return calls;
}

}  // namespace seam
