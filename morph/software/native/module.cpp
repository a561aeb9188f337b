// What Python sees of the software device.
#include "device.h"

#include <ATen/Context.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <torch/csrc/Generator.h>
#include <torch/csrc/utils/device_lazy_init.h>

namespace py = pybind11;
using namespace software;

namespace {

py::dict stats_dict(const c10::CachingAllocator::Stat& stat) {
  py::dict all;
  all["current"] = stat.current, all["peak"] = stat.peak, all["allocated"] = stat.allocated, all["freed"] = stat.freed;
  return all;
}

py::dict stats_dict(const c10::CachingAllocator::StatArray& stats) {
  py::dict all;
  all["all"] = stats_dict(stats[0]), all["small_pool"] = stats_dict(stats[1]), all["large_pool"] = stats_dict(stats[2]);
  return all;
}

py::dict memory_stats(int index) {
  auto stats = allocator()->getDeviceStats(checked(c10::DeviceIndex(index)));
  py::dict all;
  all["allocation"] = stats_dict(stats.allocation), all["segment"] = stats_dict(stats.segment);
  all["active"] = stats_dict(stats.active), all["inactive_split"] = stats_dict(stats.inactive_split);
  all["allocated_bytes"] = stats_dict(stats.allocated_bytes), all["reserved_bytes"] = stats_dict(stats.reserved_bytes);
  all["active_bytes"] = stats_dict(stats.active_bytes), all["requested_bytes"] = stats_dict(stats.requested_bytes);
  all["inactive_split_bytes"] = stats_dict(stats.inactive_split_bytes);
  all["oversize_allocations"] = stats_dict(stats.oversize_allocations);
  all["oversize_segments"] = stats_dict(stats.oversize_segments);
  all["num_alloc_retries"] = stats.num_alloc_retries, all["num_ooms"] = stats.num_ooms;
  all["num_device_alloc"] = stats.num_device_alloc, all["num_device_free"] = stats.num_device_free;
  all["num_oom_rejections"] = 0, all["num_sync_all_streams"] = 0, all["max_split_size"] = -1;
  return all;
}

py::dict pinned_memory_stats() {
  auto [bytes, blocks] = pinned_stats();
  py::dict all, no_time;
  for (const char* figure : {"avg", "count", "max", "min", "total"}) no_time[figure] = 0;
  for (const char* kind : {"active_bytes", "allocated_bytes"}) all[kind] = stats_dict(bytes);
  for (const char* kind : {"active_requests", "allocations"}) all[kind] = stats_dict(blocks);
  for (const char* kind : {"host_alloc_time", "host_free_time"}) all[kind] = no_time;
  all["num_host_alloc"] = blocks.allocated, all["num_host_free"] = blocks.freed;
  return all;
}

py::dict segment_dict(const SegmentView& segment) {
  py::list blocks;
  size_t used = 0, requested = 0;
  for (auto& block : segment.blocks) {
    if (block.used) used += block.size, requested += block.requested;
    py::dict row;
    row["address"] = block.address, row["size"] = block.size, row["requested_size"] = block.requested;
    row["state"] = block.used ? "active_allocated" : "inactive", row["frames"] = py::list();
    blocks.append(row);
  }
  py::dict all;
  all["device"] = int(segment.device), all["address"] = segment.address, all["total_size"] = segment.size;
  all["allocated_size"] = used, all["active_size"] = used, all["requested_size"] = requested;
  all["stream"] = segment.stream, all["segment_pool_id"] = segment.pool, all["is_expandable"] = false;
  all["segment_type"] = segment.large ? "large" : "small", all["frames"] = py::list(), all["blocks"] = blocks;
  return all;
}

py::list memory_snapshot() {
  py::list all;
  for (auto& segment : memory_segments()) all.append(segment_dict(segment));
  return all;
}

py::list memory_traces() {
  py::list devices;
  for (auto& events : memory_history()) {
    py::list traces;
    for (auto& event : events) {
      py::dict row;
      row["action"] = event.action, row["addr"] = event.address, row["size"] = event.size;
      row["stream"] = event.stream, row["time_us"] = event.microseconds, row["frames"] = py::list();
      traces.append(row);
    }
    devices.append(traces);
  }
  return devices;
}

void call_when_initialized(py::function callback) {
  auto* kept = new py::function(std::move(callback));  // never dropped, as the device is not
  when_initialized([kept] {
    py::gil_scoped_acquire gil;
    (*kept)();
  });
}

size_t allocate(size_t bytes, int index) {
  OnDevice on{c10::DeviceIndex(index)};
  return size_t(allocator()->raw_allocate(bytes));
}

void install_device(const std::string& type, int count, size_t memory, size_t padding, const std::string& title,
                    bool channels_last, bool float64) {
  auto kind = type == "privateuse1" ? c10::DeviceType::PrivateUse1 : c10::Device(type).type();
  install({kind, c10::DeviceIndex(count), memory, padding, title, channels_last, float64});
}

py::object default_generator(int index) {
  const at::Generator& generator = at::globalContext().defaultGenerator(device(c10::DeviceIndex(index)));
  return py::reinterpret_steal<py::object>(THPGenerator_initDefaultGenerator(generator));
}

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) {
  module.def("install", &install_device);
  module.def("engage", &engage_hooks);
  module.def("disengage", [] {  // torch asks its own module again, which refuses
    disengage_hooks();
    torch::utils::set_requires_device_init(settings().type, true);
  });
  module.def("initialize", &initialize);
  module.def("is_initialized", &is_initialized);
  module.def("when_initialized", &call_when_initialized);
  module.def("expect_no_call_of_torchs",
             [] { torch::utils::set_requires_device_init(settings().type, false); });
  module.def("is_in_bad_fork", &is_in_bad_fork);
  module.def("default_generator", &default_generator);
  module.def("current_device", [] { return int(current_device()); });
  module.def("set_device", [](int index) { set_current_device(c10::DeviceIndex(index)); });
  module.def("stream_priority", &stream_priority);
  module.def("elapsed_time", [](size_t from, size_t to) {
    return elapsed_time(reinterpret_cast<void*>(from), reinterpret_cast<void*>(to));
  });
  module.def("memory_stats", &memory_stats);
  module.def("memory_snapshot", &memory_snapshot);
  module.def("memory_traces", &memory_traces);
  module.def("record_memory_history", &record_memory_history);
  py::enum_<Reach>(module, "Reach")
      .value("STREAM", Reach::kStream).value("THREAD", Reach::kThread).value("PROCESS", Reach::kProcess);
  module.def("begin_pool", [](int index, c10::MempoolId_t pool, Reach reach) {
    begin_pool(c10::DeviceIndex(index), pool, reach);
  });
  module.def("end_pool", [](int index, c10::MempoolId_t pool) { end_pool(c10::DeviceIndex(index), pool); });
  module.def("hold_pool", [](int index, c10::MempoolId_t pool) { hold_pool(c10::DeviceIndex(index), pool); });
  module.def("let_go_of_pool",
             [](int index, c10::MempoolId_t pool) { let_go_of_pool(c10::DeviceIndex(index), pool); });
  module.def("holders_of_pool",
             [](int index, c10::MempoolId_t pool) { return holders_of_pool(c10::DeviceIndex(index), pool); });
  module.def("empty_cache", [] { allocator()->emptyCache(); });
  module.def("reset_peak_memory_stats", [](int index) { allocator()->resetPeakStats(c10::DeviceIndex(index)); });
  module.def("reset_accumulated_memory_stats",
             [](int index) { allocator()->resetAccumulatedStats(c10::DeviceIndex(index)); });
  module.def("mem_get_info", [](int index) { return allocator()->getMemoryInfo(c10::DeviceIndex(index)); });
  module.def("memory_fraction", [](int index) { return memory_fraction(c10::DeviceIndex(index)); });
  module.def("set_memory_fraction",
             [](int index, double fraction) { set_memory_fraction(c10::DeviceIndex(index), fraction); });
  module.def("resize_storage", [](size_t storage, size_t bytes) {  // by what Python calls its _cdata
    using Pointer = c10::intrusive_ptr<c10::StorageImpl>;
    resize_storage(Pointer::unsafe_reclaim_from_nonowning(reinterpret_cast<c10::StorageImpl*>(storage)), bytes);
  });
  module.def("allocate", &allocate);
  module.def("deallocate", [](size_t pointer) { allocator()->raw_deallocate(reinterpret_cast<void*>(pointer)); });
  module.def("register_host_memory", [](size_t pointer, size_t bytes) {
    register_host_memory(reinterpret_cast<void*>(pointer), bytes);
  });
  module.def("unregister_host_memory",
             [](size_t pointer) { unregister_host_memory(reinterpret_cast<void*>(pointer)); });
  module.def("pinned_memory_stats", &pinned_memory_stats);
  module.def("reset_pinned_memory_stats", &reset_pinned_stats);
  module.def("share_memory", [](size_t pointer) { return share_memory(reinterpret_cast<void*>(pointer)); });
  module.def("open_shared_memory", &open_shared_memory);
}
