// See memory.h.
#include "memory.h"

#include "machine.h"
#include "state.h"

#include <cstdint>
#include <cstdlib>

#include <sys/mman.h>
#include <unistd.h>

namespace memory {
namespace {

constexpr size_t kPage = 4096, kPitch = 512;

using Lock = std::lock_guard<std::mutex>;

const state::Pinned* pinned_around(const void* pointer) {
  auto& hosts = state::all().hosts;
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
  if (managed) machine::show(start);
  Lock lock(state::all().memory);
  state::all().taken[start] = managed;
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
  size_t row = (width + kPitch - 1) / kPitch * kPitch, bytes = 0;
  if (row < width || __builtin_mul_overflow(row, height, &bytes)) return machine::kMemoryAllocation;
  *pitch = row;
  return allocate(pointer, bytes);
}

int free(void* pointer) {
  if (int code = machine::use()) return code;
  if (!pointer) return 0;
  if (int code = machine::synchronize_device()) return code;
  Lock lock(state::all().memory);  // until it is forgotten: another thread may take the same address at once
  if (int code = machine::give_back(pointer)) return code;
  state::all().taken.erase(pointer);
  return 0;
}

int free_all() {
  Lock lock(state::all().memory);
  auto& taken = state::all().taken;
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
  if (bytes > PTRDIFF_MAX) return machine::kMemoryAllocation;
  size_t pages = (bytes + kPage - 1) / kPage * kPage;
  void* start = std::aligned_alloc(kPage, pages);
  if (!start) return machine::kMemoryAllocation;
  machine::pin(start, pages);
  Lock lock(state::all().memory);
  state::all().hosts[start] = {bytes, flags, machine::get_device()};
  *pointer = start;
  return 0;
}

int free_pinned(void* pointer) {
  if (!pointer) return 0;
  Lock lock(state::all().memory);
  if (!state::all().hosts.erase(pointer)) return machine::kInvalidValue;
  machine::unpin(pointer);
  std::free(pointer);
  return 0;
}

int pin(void* pointer, size_t bytes) {
  if (!bytes || !is_mapped(pointer) || !is_mapped(static_cast<char*>(pointer) + bytes - 1)) return machine::kInvalidValue;
  int code = machine::use();
  return code ? code : machine::pin(pointer, bytes);
}

int unpin(void* pointer) {
  if (!pointer) return machine::kInvalidValue;
  int code = machine::unpin(pointer);
  return code && machine::is_pinned(pointer) ? int(machine::kInvalidValue) : code;  // it is not the start
}

bool is_mapped(const void* pointer) {
  auto page = uintptr_t(sysconf(_SC_PAGESIZE)), address = reinterpret_cast<uintptr_t>(pointer);
  unsigned char present = 0;
  return !mincore(reinterpret_cast<void*>(address / page * page), 1, &present);
}

Kind kind(const void* pointer) {
  if (device(pointer) >= 0 && !machine::is_pinned(pointer)) {
    const void* start = nullptr;
    size_t bytes = 0;
    around(pointer, &start, &bytes);
    Lock lock(state::all().memory);
    auto& taken = state::all().taken;
    auto found = taken.find(start);
    return found != taken.end() && found->second ? kManaged : kDevice;
  }
  return machine::is_pinned(pointer) ? kHost : kUnregistered;
}

unsigned flags(const void* pointer) {
  Lock lock(state::all().memory);
  const state::Pinned* found = pinned_around(pointer);
  return found ? found->flags : 0;
}

bool fits(const void* pointer, size_t bytes) {
  const void* start = nullptr;
  size_t size = 0;
  if (around(pointer, &start, &size)) return bytes <= PTRDIFF_MAX;
  return bytes <= size - size_t(static_cast<const char*>(pointer) - static_cast<const char*>(start));
}

}  // namespace memory
