// Copies, and other work that uses memory of the host too. See order.h.
#include "device/order.h"

#include "device/captures.h"
#include "memory/held.h"

#include <algorithm>

namespace software {
namespace {

bool is_between_host_and_device(const at::Tensor& source, const at::Tensor& target) {
  return source.is_cpu() != target.is_cpu();
}

Use bytes_on_host(const at::Tensor& tensor, bool writes) {
  int64_t last = 0;
  for (int64_t i = 0; i < tensor.dim(); i++) last += (tensor.size(i) - 1) * tensor.stride(i);
  auto* start = static_cast<const char*>(tensor.storage().data());
  start += tensor.storage_offset() * int64_t(tensor.element_size());
  return {start, tensor.numel() ? size_t(last + 1) * tensor.element_size() : 0, writes};
}

// A copy runs on its source's stream. Between devices both streams wait for each other.
c10::Stream stream_of_copy(const at::Tensor& source, const at::Tensor& target) {
  return current_stream((source.is_cpu() ? target : source).device().index());
}

// So that the device can use the bytes; another stream's work may still use them.
void open_to(const char* name, c10::Stream stream, const Use& use) {
  refuse_holders(name, stream, use);
  open_for_device(use);
}

bool is_devices(const Use& use) { return owner_of(use.start) >= 0 || is_variable(use.start); }
c10::DeviceIndex device_of(const Use& use) {
  return is_variable(use.start) ? current_device() : owner_of(use.start);
}

// The host waits for a copy to memory that is not pinned. From such memory a call that blocks returns when the bytes
// are staged, before they have arrived.
bool is_awaited(const LibraryCall& call, const Use& use) { return is_pinned(use.start) ? call.blocks : use.writes; }
bool is_staged(const LibraryCall& call, const Use& use) { return call.blocks && !use.writes && !is_pinned(use.start); }

// Such a copy that blocks waits for all work of both devices, and all later work waits for it.
bool is_between_devices(const Uses& uses) {
  return std::any_of(uses.begin(), uses.end(),
                     [&](const Use& use) { return device_of(use) != device_of(uses[0]); });
}
void wait_for_all(const Uses& uses, c10::Stream stream) {
  for (const Use& use : uses) wait_for_work_of(device_of(use));
  wait_for_work_of(stream);
}

}  // namespace

void prepare_copy(const at::Tensor& source, const at::Tensor& target) {
  if (!is_between_host_and_device(source, target)) return;
  Use use = bytes_on_host(source.is_cpu() ? source : target, target.is_cpu());
  open_to("copy_", stream_of_copy(source, target), use);
}

void queue_copy(const at::Tensor& source, const at::Tensor& target, bool blocks) {
  Uses uses;
  if (!source.is_cpu()) add_uses(uses, source, false);
  if (!target.is_cpu()) add_uses(uses, target, true);
  c10::Stream stream = stream_of_copy(source, target);
  if (source.device() != target.device() && !source.is_cpu() && !target.is_cpu()) {
    c10::Stream other = current_stream(target.device().index());
    come_after(stream, *moment_on(other));
    queue_work("copy_", stream, uses);
    return come_after(other, *moment_on(stream));
  }
  Queued work = queue_work("copy_", stream, uses);
  if (!is_between_host_and_device(source, target) || is_capturing(stream)) return;
  Use use = bytes_on_host(source.is_cpu() ? source : target, target.is_cpu());
  // cudaMemcpyAsync waits by itself for a copy to memory that is not pinned
  if (blocks || (target.is_cpu() && !is_pinned(use.start))) wait_for_work_of(stream);
  else hold(use, work);
  close_opened();
}

void prepare_call(const LibraryCall& call, const Use& use) {
  if (is_devices(use)) return;
  c10::Stream stream = stream_of_launch(call.stream);
  if (is_staged(call, use)) wait_for_work_of(stream);
  open_to(call.name, stream, use);
}

void queue_call(const LibraryCall& call, const Use* uses, size_t count) {
  Uses of_device(uses, uses + count);
  auto first_of_host = std::stable_partition(of_device.begin(), of_device.end(), &is_devices);
  Uses of_host(first_of_host, of_device.end());
  of_device.erase(first_of_host, of_device.end());
  c10::Stream stream = stream_of_launch(call.stream);
  bool is_serial = call.blocks && is_between_devices(of_device);
  if (is_serial) wait_for_all(of_device, stream);
  Queued work = queue_work(call.name, stream, of_device);
  if (is_serial) wait_for_all(of_device, stream);
  if (of_host.empty() || is_capturing(stream)) return;
  auto awaits = [&](const Use& use) { return is_awaited(call, use); };
  if (of_device.empty() || std::any_of(of_host.begin(), of_host.end(), awaits)) wait_for_work_of(stream);
  else
    for (const Use& use : of_host) hold(use, work);
  close_opened();
}

}  // namespace software
