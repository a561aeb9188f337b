// See order.h.
#include "device/order.h"

#include "device/reports.h"

#include "device/captures.h"
#include "device/errors.h"
#include "memory/held.h"
#include "device/last_uses.h"

#include <dlfcn.h>

#include <map>
#include <mutex>
#include <set>

namespace software {
namespace {

struct Order {
  std::mutex mutex;
  std::vector<c10::Stream> streams;  // by their place
  std::set<Queue> blocking;          // those of torch that were made for a program of the runtime's
  std::vector<Moment> moments;       // after the work of each stream so far
  Moment host;                       // what the host has waited for
  LastUses uses;
  std::map<const char*, size_t> variables;  // their bytes, by where they start
};
Order& order = *new Order;

using Lock = std::lock_guard<std::mutex>;

void join(Moment& moment, const Moment& other) {
  if (moment.size() < other.size()) moment.resize(other.size());
  for (size_t i = 0; i < other.size(); i++) moment[i] = std::max(moment[i], other[i]);
}

size_t place_of(c10::Stream stream) {
  for (size_t i = 0; i < order.streams.size(); i++)
    if (order.streams[i] == stream) return i;
  order.streams.push_back(stream);
  order.moments.emplace_back();
  return order.streams.size() - 1;
}

// Work on CUDA's default stream and on those that a program makes by the runtime waits for each other. Streams of torch
// do not take part: they are made with cudaStreamNonBlocking.
bool is_blocking(c10::Stream stream) { return is_made(stream.id()) || order.blocking.count(queue(stream)); }
bool waits_for_default(c10::Stream one, c10::Stream other) {
  if (one.device() != other.device()) return false;
  return (one.id() == 0 && is_blocking(other)) || (is_blocking(one) && other.id() == 0);
}

uint64_t& count_of(size_t place) {
  Moment& moment = order.moments[place];
  if (moment.size() <= place) moment.resize(place + 1);
  return moment[place];
}

// What CUDA orders by itself.
void join_default(Moment& moment, c10::Stream stream) {
  for (size_t i = 0; i < order.streams.size(); i++)
    if (waits_for_default(stream, order.streams[i])) join(moment, order.moments[i]);
}

// After which the stream's next work runs.
Moment& moment_at(size_t place) {
  Moment& moment = order.moments[place];
  join(moment, order.host);
  join_default(moment, order.streams[place]);
  return moment;
}

Queued begin(const char* name, c10::Stream stream, Line line) {
  size_t place = place_of(stream);
  moment_at(place);
  return {name, place, {stream.device_index(), stream.id()}, ++count_of(place), line};
}

void host_waits(const Moment& moment) {
  join(order.host, moment);
  let_go_of_past(order.host);
}

[[noreturn]] void refuse_conflict(const Conflict& earlier, const Queued& work, const Use& use) {
  std::string one = text_of(earlier.work.where), other = text_of(work.where);
  std::string way_out = "and nothing makes " + other + " wait for " + one + ": Stream.wait_stream or an event does";
  if (earlier.is_reused) way_out = "freed meanwhile: Tensor.record_stream keeps memory that " + one + " still uses";
  refuse_order(c10::str(text_of(earlier.work.line), ": ", earlier.work.name, " on ", one,
                        earlier.writes ? " writes " : " reads ", "memory\n  ", text_of(work.line), ": ", work.name,
                        " on ", other, use.writes ? " writes " : " reads ", use.bytes, " bytes of it\n  ", way_out));
}

void take_in(const Uses& uses, const Queued& work) {
  Moment& now = order.moments[work.stream];
  for (const Use& use : uses)
    if (auto earlier = order.uses.add(use, work, now)) {
      join(now, order.moments[earlier->work.stream]);  // told once
      refuse_conflict(*earlier, work, use);
    }
}

Uses uses_of(const TensorVector& read, const TensorVector& written) {
  Uses uses;
  for (const at::Tensor& each : read) add_uses(uses, each, false);
  for (const at::Tensor& each : written) add_uses(uses, each, true);
  return uses;
}

const char* kept(const std::string& name) {
  static auto& names = *new std::set<std::string>;
  Lock lock(order.mutex);
  return names.insert(name).first->c_str();
}

// A kernel's use of a library's memory is one of a `__device__` variable.
bool is_in_library(const void* pointer) {
  Dl_info found;
  return dladdr(pointer, &found);
}

// Of a process group; torch numbers its own streams otherwise.
constexpr c10::StreamId kFirstOfGroups = c10::StreamId(1) << 40;

}  // namespace

bool is_over(const Queued& work, size_t stream, const Moment& now) {
  return work.stream == stream || (work.stream < now.size() && now[work.stream] >= work.count);
}

bool comes_after(c10::Stream stream, const Queued& work) {
  Lock lock(order.mutex);
  size_t place = place_of(stream);
  return is_over(work, place, moment_at(place));
}

void refuse_order(const std::string& found) {
  std::string text = "CUDA error: a stream does not wait for another (found by MORPH_SANITIZE=sync)\n  " + found;
  note_found("sync", text);
  TORCH_CHECK(false, text);
}

void refuse_holders(const char* name, c10::Stream stream, const Use& use) {
  for (const Queued& other : holders(use))
    if (!comes_after(stream, other))
      refuse_order(c10::str(text_of(other.line), ": ", other.name, " on ", text_of(other.where),
                            " uses pinned memory that ", name, " on ", text_of({stream.device_index(), stream.id()}),
                            " uses"));
}

void note_variable(const void* start, size_t bytes) {
  Lock lock(order.mutex);
  order.variables[static_cast<const char*>(start)] = bytes;
}

bool is_variable(const void* pointer) {
  Lock lock(order.mutex);
  auto after = order.variables.upper_bound(static_cast<const char*>(pointer));
  if (after == order.variables.begin()) return false;
  auto& [start, bytes] = *std::prev(after);
  return pointer < start + bytes;
}

void watch_order() { order_watched = true; }

Queued queue_work(const char* name, c10::Stream stream, const Uses& uses) {
  if (is_capturing(stream)) return {};
  Line line = current_line();
  Lock lock(order.mutex);
  Queued work = begin(name, stream, line);
  take_in(uses, work);
  return work;
}

std::shared_ptr<const Moment> queue_collective(const std::string& name, int64_t group, const TensorVector& read,
                                               const TensorVector& written) {
  const TensorVector& some = read.empty() ? written : read;
  if (some.empty() || some[0].is_cpu()) return nullptr;
  c10::Stream current = current_stream(some[0].device().index());
  c10::Stream own(c10::Stream::UNSAFE, current.device(), kFirstOfGroups + group);
  come_after(own, *moment_on(current));
  queue_work(kept(name), own, uses_of(read, written));
  return moment_on(own);
}

void note_blocking_stream(intptr_t stream) {
  Lock lock(order.mutex);
  order.blocking.emplace(current_device(), stream_of_handle(stream));
}

c10::Stream stream_of_launch(intptr_t stream) {
  return c10::Stream(c10::Stream::UNSAFE, device(current_device()), stream_of_handle(stream));
}

void queue_launch(const std::string& name, intptr_t handle, const Uses& uses) {
  c10::Stream stream = stream_of_launch(handle);
  Uses of_device, of_host;
  for (const Use& use : uses) {
    if (owner_of(use.start) >= 0 || is_in_library(use.start)) of_device.push_back(use);
    else if (is_pinned(use.start)) of_host.push_back(use);
  }
  for (const Use& use : of_host) refuse_holders(name.c_str(), stream, use);
  Queued work = queue_work(kept(name), stream, of_device);
  if (is_capturing(stream)) return;
  for (const Use& use : of_host) hold(use, work);
}

void queue_kernel(const std::string& name, const TensorVector& read, const TensorVector& written) {
  queue_work(kept(name), current_stream(current_device()), uses_of(read, written));
}

void await_collective(const Moment& moment, c10::DeviceIndex index, bool by_host) {
  by_host ? wait_for(moment) : come_after(current_stream(index), moment);
}

std::shared_ptr<const Moment> moment_on(c10::Stream stream) {
  Lock lock(order.mutex);
  return std::make_shared<const Moment>(moment_at(place_of(stream)));
}

void come_after(c10::Stream stream, const Moment& moment) {
  Lock lock(order.mutex);
  join(order.moments[place_of(stream)], moment);
}

void wait_for(const Moment& moment) {
  Lock lock(order.mutex);
  host_waits(moment);
}

void wait_for_work_of(c10::Stream stream) {
  Lock lock(order.mutex);
  Moment moment = order.moments[place_of(stream)];
  join_default(moment, stream);  // a copy that blocks waits for them
  host_waits(moment);
}

void wait_for_work_of(c10::DeviceIndex index) {
  Lock lock(order.mutex);
  for (size_t i = 0; i < order.streams.size(); i++)
    if (order.streams[i].device_index() == index) join(order.host, order.moments[i]);
  host_waits({});
}

void give_memory(const void* start, size_t bytes) {
  Lock lock(order.mutex);
  auto* first = static_cast<const char*>(start);
  order.uses.give(first, first + bytes);
}

void forget_memory(const void* start, size_t bytes) {
  Lock lock(order.mutex);
  auto* first = static_cast<const char*>(start);
  order.uses.forget(first, first + bytes);
}

std::string text_of(Where stream) {
  std::string device = c10::str("cuda:", int(stream.device));
  if (stream.id == 0) return "the default stream of " + device;
  bool is_groups = stream.id >= kFirstOfGroups;
  c10::StreamId number = is_groups ? stream.id - kFirstOfGroups : stream.id;
  return c10::str("stream ", is_groups ? "of process group " : "", number, " of ", device);
}

}  // namespace software
