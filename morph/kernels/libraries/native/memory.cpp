// See memory.h.
#include "memory.h"

#include "machine.h"

#include <cstdlib>
#include <map>
#include <mutex>

#include <unistd.h>

namespace memory {
namespace {

constexpr size_t kPage = 4096, kPitch = 512;

struct Pinned { size_t bytes; unsigned flags; int device; };

std::mutex mutex;
std::map<const void*, bool>& taken = *new std::map<const void*, bool>;  // by start; whether it is managed
std::map<const void*, Pinned>& hosts = *new std::map<const void*, Pinned>;

const Pinned* pinned_around(const void* pointer) {
  auto after = hosts.upper_bound(pointer);
  if (after == hosts.begin()) return nullptr;
  auto found = std::prev(after);
  size_t inside = size_t(static_cast<const char*>(pointer) - static_cast<const char*>(found->first));
  return inside < found->second.bytes ? &found->second : nullptr;
}

int take(void** pointer, size_t bytes, bool managed) {
  if (!pointer) return machine::kInvalidValue;
  if (int code = machine::use()) return code;
  if (machine::is_capturing(nullptr)) return machine::refused_in_capture();
  *pointer = nullptr;
  if (!bytes) return 0;
  void* start = machine::take(machine::get_device(), bytes);
  if (!start) return machine::kMemoryAllocation;
  std::lock_guard<std::mutex> lock(mutex);
  taken[start] = managed;
  *pointer = start;
  return 0;
}

}  // namespace

int allocate(void** pointer, size_t bytes) { return take(pointer, bytes, false); }
int allocate_managed(void** pointer, size_t bytes) {
  return bytes ? take(pointer, bytes, true) : int(machine::kInvalidValue);
}

int allocate_pitched(void** pointer, size_t* pitch, size_t width, size_t height) {
  if (!pitch) return machine::kInvalidValue;
  *pitch = (width + kPitch - 1) / kPitch * kPitch;
  return allocate(pointer, *pitch * height);
}

int free(void* pointer) {
  if (int code = machine::use()) return code;
  if (!pointer) return 0;
  if (int code = machine::synchronize_device()) return code;
  if (int code = machine::give_back(pointer)) return code;
  std::lock_guard<std::mutex> lock(mutex);
  taken.erase(pointer);
  return 0;
}

int free_all() {
  std::lock_guard<std::mutex> lock(mutex);
  for (auto it = taken.begin(); it != taken.end();)
    if (machine::owner(it->first) == machine::get_device()) {
      machine::give_back(const_cast<void*>(it->first));
      it = taken.erase(it);
    } else {
      ++it;
    }
  return 0;
}

int allocate_pinned(void** pointer, size_t bytes, unsigned flags) {
  if (!pointer) return machine::kInvalidValue;
  if (int code = machine::use()) return code;
  *pointer = nullptr;
  if (!bytes) return 0;
  void* start = std::aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage);
  if (!start) return machine::kMemoryAllocation;
  machine::pin(start, bytes);
  std::lock_guard<std::mutex> lock(mutex);
  hosts[start] = {bytes, flags, machine::get_device()};
  *pointer = start;
  return 0;
}

int free_pinned(void* pointer) {
  if (!pointer) return 0;
  std::lock_guard<std::mutex> lock(mutex);
  if (!hosts.erase(pointer)) return machine::kInvalidValue;
  machine::unpin(pointer);
  std::free(pointer);
  return 0;
}

int pin(void* pointer, size_t bytes) {
  int code = machine::use();
  return code ? code : machine::pin(pointer, bytes);
}

int unpin(void* pointer) { return pointer ? machine::unpin(pointer) : int(machine::kInvalidValue); }

Kind kind(const void* pointer) {
  if (device(pointer) >= 0 && !machine::is_pinned(pointer)) {
    const void* start = nullptr;
    size_t bytes = 0;
    around(pointer, &start, &bytes);
    std::lock_guard<std::mutex> lock(mutex);
    auto found = taken.find(start);
    return found != taken.end() && found->second ? kManaged : kDevice;
  }
  return machine::is_pinned(pointer) ? kHost : kUnregistered;
}

unsigned flags(const void* pointer) {
  std::lock_guard<std::mutex> lock(mutex);
  const Pinned* found = pinned_around(pointer);
  return found ? found->flags : 0;
}

bool fits(const void* pointer, size_t bytes) {
  const void* start = nullptr;
  size_t size = 0;
  if (around(pointer, &start, &size)) return true;
  return static_cast<const char*>(pointer) + bytes <= static_cast<const char*>(start) + size;
}

}  // namespace memory
