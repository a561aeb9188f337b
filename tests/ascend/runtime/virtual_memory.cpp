// Virtual memory, for expandable segments: addresses are reserved, physical memory is a file, and mapping
// puts one at the other.
#include <sys/mman.h>
#include <unistd.h>

#include "acl/acl.h"
#include "acl/error_codes/rt_error_codes.h"
#include "runtime/devices.h"
#include "runtime/memory.h"
#include "soft_cann.h"

using namespace soft_cann;

namespace {

constexpr size_t kAlignment = 2u << 20;

struct PhysicalMemory {
  int file;
  size_t size;
  int device;
};

PhysicalMemory *physical(aclrtDrvMemHandle handle) { return static_cast<PhysicalMemory *>(handle); }

}  // namespace

EXPORT aclError aclrtReserveMemAddress(void **pointer, size_t size, size_t, void *wanted, uint64_t) {
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void *range = mmap(wanted, size + kAlignment, PROT_NONE, flags, -1, 0);
  if (range == MAP_FAILED) return ACL_ERROR_RT_MEMORY_ALLOCATION;
  char *start = static_cast<char *>(range), *end = start + size + kAlignment;
  auto address = (reinterpret_cast<uintptr_t>(start) + kAlignment - 1) & ~(kAlignment - 1);
  char *aligned = reinterpret_cast<char *>(address);
  if (aligned > start) munmap(start, size_t(aligned - start));
  munmap(aligned + size, size_t(end - (aligned + size)));
  remember_host(aligned, size);
  *pointer = aligned;
  return ACL_SUCCESS;
}

EXPORT aclError aclrtReleaseMemAddress(void *pointer) { return release(pointer); }

EXPORT aclError aclrtMallocPhysical(aclrtDrvMemHandle *handle, size_t size, const aclrtPhysicalMemProp *wanted,
                                    uint64_t) {
  int device = is_device(wanted->location.id) ? int(wanted->location.id) : 0;
  if (!take_physical(device, size))
    return soft_cann_fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "out of memory: %zu bytes", size);
  int file = memfd_create("soft-cann-segment", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, off_t(size))) {
    give_physical(device, size);
    return soft_cann_fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "the host is out of memory: %zu bytes", size);
  }
  *handle = new PhysicalMemory{file, size, device};
  return ACL_SUCCESS;
}

EXPORT aclError aclrtFreePhysical(aclrtDrvMemHandle handle) {
  PhysicalMemory *memory = physical(handle);
  give_physical(memory->device, memory->size);
  close(memory->file);
  delete memory;
  return ACL_SUCCESS;
}

EXPORT aclError aclrtMapMem(void *address, size_t size, size_t offset, aclrtDrvMemHandle handle, uint64_t) {
  int file = physical(handle)->file;
  void *mapped = mmap(address, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, off_t(offset));
  return mapped == MAP_FAILED ? ACL_ERROR_RT_PARAM_INVALID : ACL_SUCCESS;
}

// The range is mapped again or released later.
EXPORT aclError aclrtUnmapMem(void *) { return ACL_SUCCESS; }
