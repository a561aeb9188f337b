// See cublas.h.
#include "device/cublas.h"

#include "device/captures.h"
#include "device/device.h"

#include <c10/util/Exception.h>
#include <torch/csrc/autograd/graph_task.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>

namespace software {
namespace {

using c10::DeviceIndex;
using Handle = int;
using Handles = std::map<DeviceIndex, Handle>;


std::mutex cublas_mutex;
// Neither is ever freed: threads, and what is done at exit, may outlive static destruction.
auto& unused = *new std::map<DeviceIndex, std::vector<Handle>>;  // of threads that have ended
auto& workspaces = *new std::map<std::pair<Handle, c10::StreamId>, c10::DataPtr>;
Handle last_handle = 0;
std::atomic<size_t> generation{0};  // of workspaces, which are cleared together
std::optional<size_t> wanted_workspace;

struct HandlesOfThread {
  Handles handles;
  ~HandlesOfThread() {
    std::lock_guard lock(cublas_mutex);
    for (auto [device, handle] : handles) unused[device].push_back(handle);
  }
};

Handle make_handle(DeviceIndex device) {
  std::vector<Handle>& free = unused[device];
  if (free.empty()) {
    TORCH_CHECK(!break_off_unsafe(), settings().title,
                " error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`");
    return ++last_handle;
  }
  Handle taken = free.back();
  free.pop_back();
  return taken;
}

// CUDA's torch computes gradients in a thread of the device's, and this device in the thread that asks for them.
Handle handle_on(DeviceIndex device, bool of_gradients) {
  thread_local HandlesOfThread own;
  static Handles of_device_threads;
  std::lock_guard lock(cublas_mutex);
  Handles& handles = of_gradients ? of_device_threads : own.handles;
  auto found = handles.find(device);
  return found != handles.end() ? found->second : handles[device] = make_handle(device);
}

bool has_workspace(std::pair<Handle, c10::StreamId> place) {
  std::lock_guard lock(cublas_mutex);
  return workspaces.count(place);
}

void need_workspace(DeviceIndex device, std::pair<Handle, c10::StreamId> place) {
  if (settings().type != c10::DeviceType::CUDA || has_workspace(place)) return;
  OnDevice guard(device);
  c10::DataPtr memory = allocator()->allocate(cublas_workspace());  // without the lock: it may call Python
  std::lock_guard lock(cublas_mutex);
  workspaces.emplace(place, std::move(memory));
}

// As torch reads it; 0 is a size.
std::optional<size_t> configured() {
  const char* text = std::getenv("CUBLAS_WORKSPACE_CONFIG");
  std::optional<size_t> total;
  size_t size, count;
  for (int used; text && std::sscanf(text, ":%zu:%zu%n", &size, &count, &used) == 2; text += used)
    total = total.value_or(0) + (size * count << 10);
  return total;
}

// In bytes: CublasHandlePool.cpp of torch, for AMD's MI300 (9.4), Hopper and Blackwell, and others.
size_t default_workspace() {
  if (capability() == 94) return size_t(128) << 20;
  bool is_large = capability() / 10 == 9 || capability() / 10 == 10;
  return is_large ? size_t(32) << 20 : size_t(4096 * 2 + 16 * 8) << 10;
}

}  // namespace

void need_cublas(DeviceIndex device) {
  struct Place {
    c10::StreamId stream;
    size_t generation;
    DeviceIndex device;
    bool of_gradients;
    bool operator==(const Place&) const = default;
  };
  thread_local Place last{0, 0, -1, false};
  Place place{current_stream(device).id(), generation, device, torch::autograd::get_current_graph_task_id() != -1};
  if (place == last) [[likely]] return;
  need_workspace(device, {handle_on(device, place.of_gradients), place.stream});
  last = place;
}

size_t cublas_workspace() {
  if (wanted_workspace) return *wanted_workspace;
  return configured().value_or(default_workspace());
}

void set_cublas_workspace(std::optional<size_t> bytes) { wanted_workspace = bytes; }

void clear_cublas_workspaces() {
  generation++;
  std::map<std::pair<Handle, c10::StreamId>, c10::DataPtr> cleared;
  std::lock_guard lock(cublas_mutex);
  cleared.swap(workspaces);
}

}  // namespace software
