// What waits for what, for `--sanitize=sync`: a clock for each stream and for the host, and for each piece of memory
// who used it last. Kernels run when they are queued, so that a missing wait changes no result; here it is an error.
#pragma once

#include "device/device.h"
#include "device/lines.h"

#include <atomic>
#include <memory>

namespace software {

inline std::atomic<bool> order_watched{false};
inline bool is_order_watched() { return order_watched.load(std::memory_order_relaxed); }
void watch_order();

// How much work of each stream is over, by the stream's place among all.
using Moment = std::vector<uint64_t>;

// Bytes that work reads or writes.
struct Use {
  const char* start;
  size_t bytes;
  bool writes;
  bool is_atomic = false;
};
using Uses = std::vector<Use>;
void add_uses(Uses& all, const at::Tensor& tensor, bool writes);  // of device memory, piece by piece

// A stream: c10's has no default.
struct Where {
  c10::DeviceIndex device = 0;
  c10::StreamId id = 0;
};

// Which work, and where the program started it.
struct Queued {
  const char* name;
  size_t stream;   // its place among all
  Where where;
  uint64_t count;  // of the stream's work
  Line line;
};

bool is_over(const Queued& work, size_t stream, const Moment& now);  // before work of the stream that starts now
bool comes_after(c10::Stream stream, const Queued& work);  // what the stream does next
[[noreturn]] void refuse_order(const std::string& found);
// Raises where other work that uses some of the pinned memory need not be over.
void refuse_holders(const char* name, c10::Stream stream, const Use& use);
// A variable of a program that the device has: `__device__`, `__constant__`.
void note_variable(const void* start, size_t bytes);
bool is_variable(const void* pointer);

// Work that is queued now. Raises where it need not come after another use of its memory.
Queued queue_work(const char* name, c10::Stream stream, const Uses& uses);
// A copy between host and device: what of pinned memory it uses stays out of the program's reach until the host has
// waited for it, if it does not block.
void queue_copy(const at::Tensor& source, const at::Tensor& target, bool blocks);
void prepare_copy(const at::Tensor& source, const at::Tensor& target);  // before the bytes are moved

// A copy or a fill of CUDA's runtime, or a call of another library of CUDA's, done at once.
struct LibraryCall {
  const char* name;  // is kept
  intptr_t stream;   // its handle
  bool blocks;
};
void prepare_call(const LibraryCall& call, const Use& use);  // before it uses the bytes, of host or device
void queue_call(const LibraryCall& call, const Use* uses, size_t count);  // after it

// A collective's, on the stream of its group. The library of collectives calls both.
using TensorVector = std::vector<at::Tensor>;
std::shared_ptr<const Moment> queue_collective(const std::string& name, int64_t group, const TensorVector& read,
                                               const TensorVector& written);
void note_blocking_stream(intptr_t stream);  // it and the default stream wait for each other
void queue_launch(const std::string& name, intptr_t stream, const Uses& uses);
c10::Stream stream_of_launch(intptr_t stream);  // by its handle, of the current device
// On the current stream.
void queue_kernel(const std::string& name, const TensorVector& read, const TensorVector& written);
void await_collective(const Moment& moment, c10::DeviceIndex index, bool by_host);

std::shared_ptr<const Moment> moment_on(c10::Stream stream);  // after all of its work so far
void come_after(c10::Stream stream, const Moment& moment);
void wait_for(const Moment& moment);  // the host does
void wait_for_work_of(c10::Stream stream);
void wait_for_work_of(c10::DeviceIndex index);

void give_memory(const void* start, size_t bytes);    // to another owner, in the order of its stream
void forget_memory(const void* start, size_t bytes);  // all its uses are over

// For the libraries that run kernels, by its address.
struct OrderFunctions {
  decltype(&queue_launch) launch;
  decltype(&note_blocking_stream) note_blocking;
  decltype(&prepare_call) prepare;
  decltype(&queue_call) queue;
  decltype(&add_uses) add;
  decltype(&note_variable) note_device_variable;
};

std::string text_of(Where stream);  // "the default stream of cuda:0"

}  // namespace software
