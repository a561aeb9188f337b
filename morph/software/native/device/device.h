// Shared by the parts of the software device: its type, the number of devices, and the current one.
#pragma once

#include "device/torchs.h"

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/DispatchKeySet.h>
#include <c10/core/Storage.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace software {

struct Settings {
  c10::DeviceType type = c10::DeviceType::PrivateUse1;
  c10::DeviceIndex count = 0;
  size_t memory = 0;   // bytes of one device
  size_t padding = 0;  // bytes that the vendor's allocator adds to each request
  std::string title;   // the device's name in error messages: "NPU"
  bool channels_last = true;  // whether the device supports that memory format
  bool float64 = true;        // whether a cast to float64 is one
  int of_card = 0;            // the compute capability of the card that the device stands for, 90; 0: none
  std::vector<int> numbers;   // of the machine's devices that are visible
};
extern Settings chosen_settings;  // device.cpp
inline const Settings& settings() { return chosen_settings; }
inline int capability() { return settings().of_card ? settings().of_card : 80; }

// Registers guard, allocator, hooks and kernels for the device. Once in a process.
void install(Settings wanted);
void install_guard();
void install_hooks();
void install_memory();
void install_storage_operators();
void install_casts();
void install_sparse();
__attribute__((weak)) void install_operators();  // null where the device is built without unboxed kernels
void install_fallback();
void install_neural_operators();
void install_products_of_halves();
void install_recurrent_networks();
void install_attention();
void install_profiler();
bool records_activities();  // whether torch's profiler takes the device's kernels and copies
void install_allocator_settings();
size_t rounded_as_set(size_t bytes, size_t unit);  // by PYTORCH_ALLOC_CONF's roundup_power2_divisions

// The first use of a device; refused in a process forked from one that had used it.
void initialize();
void when_initialized(std::function<void()> callback);  // called once, by the thread that uses a device first
void set_visible_devices(std::vector<int> numbers);  // of the installed devices; before the first use
bool is_initialized();
bool is_in_bad_fork();
void install_autocast();

// interface.cpp: the device for libraries in C, by the names of its functions
std::map<std::string, size_t> interface();

// counting.cpp: how often each operator was called with the device, while that is wanted
void count_operators(bool wanted);
std::map<std::string, uint64_t> counted_operators();

c10::Device device(c10::DeviceIndex index);
bool known_to_torch();  // whether torch itself knows the device type, with parts that only a build for it contains
c10::DispatchKey backend_key();
c10::DispatchKey autograd_key();
c10::DispatchKey sparse_key(bool compressed);
c10::DeviceIndex current_device();
void set_current_device(c10::DeviceIndex index);  // checked
c10::DeviceIndex other_or_refused(c10::DeviceIndex index);
inline c10::DeviceIndex checked(c10::DeviceIndex index) {  // -1 is the current device
  return index >= 0 && index < settings().count ? index : other_or_refused(index);
}

class OnDevice {
 public:
  explicit OnDevice(c10::DeviceIndex index);
  ~OnDevice();
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  c10::DeviceIndex previous_;
};

// streams.cpp
c10::Stream current_stream(c10::DeviceIndex index);
c10::StreamId current_stream_id(c10::DeviceIndex index);
int stream_priority(c10::StreamId id);
c10::StreamId make_stream(int priority);  // one of its own, on any device; torch's streams are used in turn
bool end_stream(c10::StreamId id);        // false if there is none
std::pair<int64_t, int64_t> handles();    // how many events there are, and streams that make_stream made
bool is_made(c10::StreamId id);           // by make_stream, and not ended
bool is_stream(c10::StreamId id);         // whether it was given to somebody and not ended, or is the default one
c10::StreamId stream_of_handle(intptr_t handle);  // CUDA has three handles of the default stream
double elapsed_time(const void* from, const void* to);  // milliseconds between two recorded events
void make_external(size_t event);                      // an event that a graph may record, and wait for, at its replay
int64_t event_time(size_t event);                      // by the clock that all processes share
void set_event_time(size_t event, int64_t time);

// memory.cpp
DeviceAllocator* allocator();
void set_memory_fraction(c10::DeviceIndex index, double fraction);
double memory_fraction(c10::DeviceIndex index);
c10::DeviceIndex owner_of(const void* pointer);  // -1: not device memory
MempoolId_t pool_of(const void* pointer);  // {0, 0}: none of its own
struct BlockView { size_t address, size, requested; bool used, awaited; };
struct SegmentView {
  c10::DeviceIndex device;
  size_t address, size;
  c10::StreamId stream;
  MempoolId_t pool;
  bool large;
  std::vector<BlockView> blocks;
};
std::vector<SegmentView> memory_segments();
void hold_pool(c10::DeviceIndex index, MempoolId_t pool);
void let_go_of_pool(c10::DeviceIndex index, MempoolId_t pool);
int holders_of_pool(c10::DeviceIndex index, MempoolId_t pool);
// Beside torch's caches; null where it does not fit. Torch's: its allocator frees it.
void* take_outside(c10::DeviceIndex index, size_t bytes, bool torchs = false);
bool give_back_outside(void* pointer);                     // false if it is not the start of such memory
std::pair<const char*, size_t> segment_around(const void* pointer);  // start and bytes; null: not device memory
// The memory file, the segment's offset in it, and the pointer's offset in the segment.
std::tuple<int, size_t, size_t> place_in_file(const void* pointer);

// pools.cpp: which pool memory is taken from; {0, 0} is the allocator's own
// Whose allocations use the pool: the current stream's, this thread's, those of a capture's streams, or all.
enum class Reach { kStream, kThread, kCapture, kProcess };
void begin_pool(c10::DeviceIndex index, MempoolId_t pool, Reach reach);
void end_pool(c10::DeviceIndex index, MempoolId_t pool);
inline std::atomic<bool> any_routes{false};
MempoolId_t routed_pool(c10::DeviceIndex index, c10::StreamId stream);
inline MempoolId_t pool_for(c10::DeviceIndex index, c10::StreamId stream) {
  return any_routes ? routed_pool(index, stream) : MempoolId_t{0, 0};
}
at::Tensor borrow(const at::Tensor& tensor, MempoolId_t pool);  // without keeping the pool's memory alive

// host.cpp
void install_pinned_memory();
bool is_pinned(const void* pointer);
bool is_in_own_pages(const void* pointer);  // pinned memory that shares no page with other blocks
bool use_pinned(const void* pointer, c10::Stream stream);  // records that work of the stream reads or writes it
int32_t register_host_memory(const void* pointer, size_t bytes);  // pins memory of another allocator
int32_t unregister_host_memory(const void* pointer);              // both return the runtime's error code

// hooks.cpp: replaces torch's own hooks for a device type that torch itself knows
void engage_hooks();
void disengage_hooks();
size_t generator_state(const at::Generator& generator);  // identifies the state of a generator
void resize_storage(const c10::Storage& storage, size_t bytes);

// sharing.cpp: memory that other processes map
struct Shared { int file; size_t segment, offset; int counters; size_t counter; };
Shared share_storage(const c10::Storage& storage);  // adds a receiver
c10::Storage open_shared_storage(int process, const Shared& place, size_t bytes, c10::DeviceIndex index);
void let_go_of_shared(int process, int counters, size_t counter);  // for a receiver that has mapped the storage already
void collect_shared();  // frees storages that all receivers have released

// fallback.cpp: a copy of a host tensor
at::Tensor to_device(const at::Tensor& host, c10::Device target);

}  // namespace software
