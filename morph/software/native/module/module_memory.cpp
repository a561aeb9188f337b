// Python bindings of the device's memory, and of pinned memory.
#include "memory/arena.h"
#include "memory/checkpoints.h"
#include "memory/hidden.h"
#include "memory/unwritten.h"
#include "memory/history.h"
#include "memory/location.h"
#include "memory/memory.h"
#include "module/module.h"
#include "memory/pinned.h"

#include <torch/csrc/profiler/combined_traceback.h>

namespace torch {  // declared in a header that cannot be included from torch's wheels
std::vector<pybind11::object> py_symbolize(std::vector<CapturedTraceback*>& to_symbolize);
}

namespace software {
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

// CUDA's allocator takes no -1 for the current device.
c10::DeviceIndex with_memory(int index) {
  bool exists = index >= 0 && index < settings().count;
  TORCH_CHECK(exists || settings().type != c10::DeviceType::CUDA, "Invalid device argument ", index, ": did you call init?");
  return checked(index_of(index));
}

py::dict memory_stats(int index) {
  auto stats = allocator()->getDeviceStats(with_memory(index));
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
  all["num_oom_rejections"] = 0, all["max_split_size"] = -1;
  all["num_sync_all_streams"] = releases_of_memory(c10::DeviceIndex(index));
  return all;
}

py::dict pinned_memory_stats() {
  auto figures = pinned_figures();
  py::dict all, no_time;
  for (const char* figure : {"avg", "count", "max", "min", "total"}) no_time[figure] = 0;
  all["allocations"] = stats_dict(figures.allocations), all["allocated_bytes"] = stats_dict(figures.allocated_bytes);
  all["active_requests"] = stats_dict(figures.active_requests), all["active_bytes"] = stats_dict(figures.active_bytes);
  for (const char* kind : {"host_alloc_time", "host_free_time"}) all[kind] = no_time;
  all["num_host_alloc"] = figures.num_host_alloc, all["num_host_free"] = figures.num_host_free;
  return all;
}

// Rows that still lack the frames of their allocation, which are symbolized together.
class Rows {
 public:
  void add(py::dict row, const Context& context, bool always) {
    if (auto* traceback = dynamic_cast<torch::CapturedTraceback*>(context.get())) {
      rows_.push_back(row), tracebacks_.push_back(traceback), held_.push_back(context);
    } else if (always) {
      row["frames"] = py::list();
    }
  }
  void fill() {
    auto frames = torch::py_symbolize(tracebacks_);
    for (size_t i = 0; i < frames.size(); i++) rows_[i]["frames"] = frames[i];
  }

 private:
  std::vector<py::dict> rows_;
  std::vector<torch::CapturedTraceback*> tracebacks_;
  std::vector<Context> held_;
};

const void* pointer(size_t address) { return reinterpret_cast<const void*>(address); }

py::list block_rows(const SegmentView& segment, Rows& rows) {
  py::list blocks;
  for (auto& block : segment.blocks) {
    py::dict row;
    row["address"] = block.address, row["size"] = block.size, row["requested_size"] = block.requested;
    row["state"] = block.awaited ? "active_pending_free" : block.used ? "active_allocated" : "inactive";
    rows.add(row, block.used ? context_of(pointer(block.address)) : nullptr, true);
    blocks.append(row);
  }
  return blocks;
}

py::dict segment_row(const SegmentView& segment, Rows& rows) {
  size_t allocated = 0, active = 0, requested = 0;
  for (auto& block : segment.blocks) {
    if (block.used) active += block.size, requested += block.requested;
    if (block.used && !block.awaited) allocated += block.size;
  }
  py::dict row;
  row["device"] = int(segment.device), row["address"] = segment.address, row["total_size"] = segment.size;
  row["allocated_size"] = allocated, row["active_size"] = active, row["requested_size"] = requested;
  row["stream"] = segment.stream, row["segment_pool_id"] = segment.pool, row["is_expandable"] = false;
  row["segment_type"] = segment.large ? "large" : "small";
  rows.add(row, context_of_segment(pointer(segment.address)), true);
  row["blocks"] = block_rows(segment, rows);
  return row;
}

py::dict event_row(const MemoryEvent& event, Rows& rows) {
  py::dict row;
  bool refused = std::string_view(event.action) == "oom";
  row["action"] = event.action, row[refused ? "device_free" : "addr"] = event.address, row["size"] = event.size;
  row["stream"] = event.stream, row["time_us"] = event.microseconds, row["pool_id"] = event.pool;
  row["compile_context"] = "N/A", row["user_metadata"] = event.metadata;
  rows.add(row, event.context, false);
  return row;
}

py::list memory_snapshot(bool with_frames) {
  Rows rows;
  py::list all;
  for (auto& segment : memory_segments()) all.append(segment_row(segment, rows));
  if (with_frames) rows.fill();
  return all;
}

py::list memory_traces() {
  Rows rows;
  py::list devices;
  for (auto& events : memory_history()) {
    py::list traces;
    for (auto& event : events) traces.append(event_row(event, rows));
    devices.append(traces);
  }
  rows.fill();
  return devices;
}

py::object frames_of(const Context& context) {
  if (!context) return py::none();
  Rows rows;
  py::dict row;
  rows.add(row, context, true);
  rows.fill();
  return row["frames"];
}

size_t locator() { return size_t(&locate); }

py::dict last_host_access() {
  const HostAccess& access = host_access();
  py::dict row;
  row["device"] = access.device;
  row["offset"] = reinterpret_cast<uintptr_t>(access.address) - access.start;
  row["bytes"] = access.end - access.start;
  row["is_live"] = access.is_live;
  row["frames"] = frames_of(access.taken);
  return row;
}

void bind_hidden(py::module& module) {
  module.def("hide_memory", &hide_memory);
  module.def("last_host_access", &last_host_access);
  module.def("hides_memory", [] { return hides_memory(); });
  module.def("usable_address_function", [] { return size_t(usable_address); });
  module.def("usable_address", [](size_t address) { return size_t(usable(pointer(address))); });
  module.def("begin_device_access", &begin_device_access);
  module.def("end_device_access", &end_device_access);
  module.def("device_functions", [] { return size_t(&device_functions()); });
}

py::object allocation_frames(size_t address) {
  return frames_of(owner_of(pointer(address)) < 0 ? nullptr : context_of(pointer(address)));
}

void record(bool state, bool events, int frames, bool of_native_code, size_t entries, std::set<std::string> skipped) {
  set_recording({state, events, Frames(frames), of_native_code, entries, std::move(skipped)});
}

size_t allocate(size_t bytes, int index) {
  OnDevice on(index_of(index));
  return size_t(allocator()->raw_allocate(bytes));
}

using Storage = c10::intrusive_ptr<c10::StorageImpl>;

Storage storage_at(size_t address) {  // what Python calls its _cdata
  return Storage::unsafe_reclaim_from_nonowning(reinterpret_cast<c10::StorageImpl*>(address));
}

Storages storages_at(const std::vector<size_t>& addresses) {
  Storages all;
  for (size_t address : addresses) all.push_back(reinterpret_cast<c10::StorageImpl*>(address));
  return all;
}

void observe(py::function observer) {
  auto* kept = new py::function(std::move(observer));  // never dropped, as the device is not
  observe_refused_memory([kept](int64_t index, int64_t wanted, int64_t total, int64_t free) {
    py::gil_scoped_acquire gil;
    (*kept)(index, wanted, total, free);
  });
}

void bind_history(py::module& module) {
  module.def("memory_snapshot", &memory_snapshot, py::arg("with_frames") = true);
  module.def("memory_traces", &memory_traces);
  module.def("record_memory_history", &record);
  module.def("forget_memory_history", &forget_memory_history);
  module.def("is_memory_recorded", [] { return recording().state; });
  module.def("allocation_frames", &allocation_frames);
  module.def("locator", &locator);
  module.def("keep_freed", &keep_freed);
  module.def("line_of_free", [](size_t address) { return line_of_free(pointer(address)); });
  module.def("begin_to_mark_unwritten", &begin_to_mark);
  module.def("check_read", [](const std::string& name, const std::vector<at::Tensor>& tensors) {
    for (auto& each : tensors) check_read(name.c_str(), each, false);
  });
  module.def("unwritten", [] { return size_t(&is_unwritten); });
  module.def("set_memory_metadata", &set_metadata);
  module.def("memory_metadata", &metadata);
  module.def("observe_refused_memory", &observe);
}

void bind_pinned(py::module& module) {
  module.def("register_host_memory",
             [](size_t address, size_t bytes) { return register_host_memory(pointer(address), bytes); });
  module.def("unregister_host_memory", [](size_t address) { return unregister_host_memory(pointer(address)); });
  module.def("pinned_memory_stats", &pinned_memory_stats);
  module.def("reset_peak_pinned_memory_stats", [] { pinned_allocator()->reset_peak_stats(); });
  module.def("reset_accumulated_pinned_memory_stats", [] { pinned_allocator()->reset_accumulated_stats(); });
  module.def("empty_pinned_cache", [] { pinned_allocator()->empty_cache(); });
  module.def("pinned_allocator", [] { return size_t(pinned_allocator()); });
}

}  // namespace

void bind_memory(py::module& module) {
  bind_hidden(module);
  using NoGil = py::call_guard<py::gil_scoped_release>;
  module.def("memory_stats", &memory_stats);
  module.def("empty_cache", [] { allocator()->emptyCache(); }, NoGil());
  module.def("reset_peak_memory_stats", [](int index) { allocator()->resetPeakStats(with_memory(index)); });
  module.def("reset_accumulated_memory_stats", [](int index) { allocator()->resetAccumulatedStats(with_memory(index)); });
  module.def("mem_get_info", [](int index) { return allocator()->getMemoryInfo(index_of(index)); });
  module.def("memory_fraction", [](int index) { return memory_fraction(index_of(index)); });
  module.def("set_caching", &set_caching);
  module.def("caches", &caches);
  module.def("set_memory_fraction", [](int index, double fraction) { set_memory_fraction(index_of(index), fraction); });
  module.def("resize_storage", [](size_t storage, size_t bytes) { resize_storage(storage_at(storage), bytes); });
  module.def("allocate", &allocate, NoGil());
  module.def("deallocate", [](size_t address) { allocator()->raw_deallocate(reinterpret_cast<void*>(address)); },
             NoGil());
  module.def("has_standard_deleter", [](size_t storage) {
    return storage_at(storage)->data_ptr().get_deleter() == allocator()->raw_deleter();
  });
  bind_history(module);
  bind_pinned(module);
}

static void bind_checkpoints(py::module& module) {
  py::class_<PoolState>(module, "PoolState");
  module.def("pool_state", [](int index, MempoolId_t pool) { return pool_state(index_of(index), pool); });
  module.def("put_back_pool", [](const PoolState& state, const std::vector<size_t>& stale,
                                 const std::vector<size_t>& owners) {
    put_back(state, storages_at(stale), storages_at(owners));
  });
  module.def("free_and_disown", [](size_t storage) { free_and_disown(storages_at({storage})[0]); });
  module.def("forbid_tensor", [](const at::Tensor& tensor, std::string message) {
    tensor.unsafeGetTensorImpl()->release_storage_and_set_meta_custom_data_ptr_error_msg_(std::move(message));
  });
  module.def("forbid_storage", [](size_t storage, std::string message) {
    storages_at({storage})[0]->release_data_and_set_meta_custom_data_ptr_error_msg_(std::move(message));
  });
}

void bind_pools(py::module& module) {
  py::enum_<Reach>(module, "Reach")
      .value("STREAM", Reach::kStream)
      .value("THREAD", Reach::kThread)
      .value("CAPTURE", Reach::kCapture)
      .value("PROCESS", Reach::kProcess);
  using Id = MempoolId_t;
  module.def("begin_pool", [](int index, Id pool, Reach reach) { begin_pool(index_of(index), pool, reach); });
  module.def("end_pool", [](int index, Id pool) { end_pool(index_of(index), pool); });
  module.def("hold_pool", [](int index, Id pool) { hold_pool(index_of(index), pool); });
  module.def("let_go_of_pool", [](int index, Id pool) { let_go_of_pool(index_of(index), pool); });
  module.def("borrow", &borrow);
  module.def("lies_in_pool", [](size_t address, Id pool) { return pool_of(pointer(address)) == pool; });
  bind_checkpoints(module);
  module.def("holders_of_pool", [](int index, Id pool) { return holders_of_pool(index_of(index), pool); });
}

}  // namespace software
