// What the parts of the software device share: which device it is, how many there are, and who is current.
#pragma once

#include "torchs.h"

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/DispatchKeySet.h>
#include <c10/core/Storage.h>

#include <cstdint>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

namespace software {

struct Settings {
  c10::DeviceType type = c10::DeviceType::PrivateUse1;
  c10::DeviceIndex count = 0;
  size_t memory = 0;   // bytes of one device
  size_t padding = 0;  // bytes that the vendor's allocator adds to each request
  std::string title;   // the device in error messages: "NPU"
  bool channels_last = true;  // whether tensors may be put into that order on the device
  bool float64 = true;        // whether a cast to float64 is one
  std::vector<int> numbers;   // of the devices in the machine, of which some may be hidden
};
const Settings& settings();

// Registers guard, allocator, hooks and kernels for the device. Once in a process.
void install(Settings wanted);
void install_guard();
void install_hooks();
void install_memory();
void install_storage_operators();
void install_casts();
void install_sparse();
void install_operators();
void install_fallback();
void install_neural_operators();
void install_attention();
void install_profiler();
void install_allocator_settings();
size_t rounded_as_set(size_t bytes, size_t unit);  // by PYTORCH_ALLOC_CONF's roundup_power2_divisions

// The first use of a device; refused in a process forked from one that had used it.
void initialize();
void when_initialized(std::function<void()> callback);  // called once, by the thread that uses a device first
void set_visible_devices(std::vector<int> numbers);  // of the installed devices; before the first use
bool is_initialized();
bool is_in_bad_fork();
void install_autocast();

c10::Device device(c10::DeviceIndex index);
bool known_to_torch();  // whether torch has the device by itself, with parts that only a build for it brings
c10::DispatchKey backend_key();
c10::DispatchKey autograd_key();
c10::DispatchKey sparse_key(bool compressed);
c10::DeviceIndex current_device();
void set_current_device(c10::DeviceIndex index);  // checked
c10::DeviceIndex checked(c10::DeviceIndex index);  // -1 is the current device

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
int stream_priority(c10::StreamId id);
double elapsed_time(const void* from, const void* to);  // milliseconds between two recorded events
int64_t event_time(size_t event);                      // by the clock that all processes share
void set_event_time(size_t event, int64_t time);

// memory.cpp
DeviceAllocator* allocator();
void set_memory_fraction(c10::DeviceIndex index, double fraction);
double memory_fraction(c10::DeviceIndex index);
c10::DeviceIndex owner_of(const void* pointer);  // -1: not device memory
MempoolId_t pool_of(const void* pointer);  // {0, 0}: none of its own
struct BlockView { size_t address, size, requested; bool used; };
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
// The memory file, the offset of the segment in it, the offset of the pointer in the segment.
std::tuple<int, size_t, size_t> place_in_file(const void* pointer);

// pools.cpp: which pool memory is taken from; {0, 0} is the allocator's own
// Whose memory: the current stream's, this thread's, both of these, everybody's.
enum class Reach { kStream, kThread, kCapture, kProcess };
void begin_pool(c10::DeviceIndex index, MempoolId_t pool, Reach reach);
void end_pool(c10::DeviceIndex index, MempoolId_t pool);
MempoolId_t pool_for(c10::DeviceIndex index, c10::StreamId stream);
at::Tensor borrow(const at::Tensor& tensor, MempoolId_t pool);  // without holding what lies in the pool

// host.cpp
void install_pinned_memory();
bool is_pinned(const void* pointer);
bool use_pinned(const void* pointer, c10::Stream stream);  // notes that work of the stream reads or writes it
int32_t register_host_memory(const void* pointer, size_t bytes);  // pins memory that somebody else allocated
int32_t unregister_host_memory(const void* pointer);              // both give the runtime's code

// hooks.cpp: whether torch asks this device where it knows the device type by itself
void engage_hooks();
void disengage_hooks();
size_t generator_state(const at::Generator& generator);  // what tells the states of generators apart
void resize_storage(const c10::Storage& storage, size_t bytes);

// sharing.cpp: memory in the hands of other processes
struct Shared { int file; size_t segment, offset; int counters; size_t counter; };
Shared share_storage(const c10::Storage& storage);  // counts one more receiver
c10::Storage open_shared_storage(int process, const Shared& place, size_t bytes, c10::DeviceIndex index);
void let_go_of_shared(int process, int counters, size_t counter);  // a receiver that has the storage already
void collect_shared();  // frees what every receiver has let go of

// fallback.cpp: a copy of a host tensor
at::Tensor to_device(const at::Tensor& host, c10::Device target);

}  // namespace software
