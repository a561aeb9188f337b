// The memory of a device is one sparse file in memory, mapped whole and shared: another process can map a
// piece of it, and the pages of what is freed go back to the system.
#include "runtime/memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <mutex>

#include "acl/acl.h"
#include "acl/error_codes/rt_error_codes.h"
#include "runtime/devices.h"
#include "soft_cann.h"

namespace soft_cann {
namespace {

constexpr size_t kPage = 4096;

struct DeviceMemory {
  int file = -1;
  char *base = nullptr;
  size_t used = 0;
};
std::array<DeviceMemory, kMostDevices> memories;
std::map<char *, Block> blocks;
std::mutex memory_mutex;

bool open_memory(DeviceMemory &memory) {
  if (memory.base) return true;
  int file = memfd_create("soft-cann-device", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, off_t(device_memory()))) return false;
  void *base = mmap(nullptr, device_memory(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  if (base == MAP_FAILED) return false;
  memory.file = file;
  memory.base = static_cast<char *>(base);
  return true;
}

// First fit; there are few blocks, since torch_npu keeps what it frees.
char *find_gap(int device, size_t size) {
  char *gap = memories[device].base, *end = gap + device_memory();
  for (auto block = blocks.lower_bound(gap); block != blocks.end() && block->first < end; ++block) {
    if (block->second.device != device) continue;
    if (size_t(block->first - gap) >= size) return gap;
    gap = block->first + block->second.size;
  }
  return size_t(end - gap) >= size ? gap : nullptr;
}

char *allocate_on_device(size_t size, int device) {
  DeviceMemory &memory = memories[device];
  if (memory.used + size > device_memory() || !open_memory(memory)) return nullptr;
  char *start = find_gap(device, size);
  if (start) memory.used += size;
  return start;
}

char *allocate_on_host(size_t size) {
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void *start = mmap(nullptr, size, PROT_READ | PROT_WRITE, flags, -1, 0);
  return start == MAP_FAILED ? nullptr : static_cast<char *>(start);
}

void give_back(const Block &block) {
  if (block.device == kHost) {
    munmap(block.start, block.size);
    return;
  }
  memories[block.device].used -= block.size;
  Backing place = backing(block, block.start);
  fallocate(place.file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, place.offset, off_t(block.size));
}

}  // namespace

int allocate(void **pointer, size_t size, int device) {
  if (!size) return soft_cann_fail(ACL_ERROR_RT_PARAM_INVALID, "an allocation of no bytes");
  size_t whole_pages = (size + kPage - 1) & ~(kPage - 1);
  std::lock_guard lock(memory_mutex);
  char *start = device == kHost ? allocate_on_host(whole_pages) : allocate_on_device(whole_pages, device);
  if (!start)
    return soft_cann_fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "out of memory: %zu bytes on device %d", size, device);
  blocks[start] = {start, whole_pages, device};
  *pointer = start;
  return ACL_SUCCESS;
}

int release(void *pointer) {
  std::lock_guard lock(memory_mutex);
  auto found = blocks.find(static_cast<char *>(pointer));
  if (found == blocks.end()) return soft_cann_fail(ACL_ERROR_RT_PARAM_INVALID, "%p was not allocated", pointer);
  give_back(found->second);
  blocks.erase(found);
  return ACL_SUCCESS;
}

void remember_host(void *pointer, size_t size) {
  std::lock_guard lock(memory_mutex);
  char *start = static_cast<char *>(pointer);
  blocks[start] = {start, size, kHost};
}

void forget_host(void *pointer) {
  std::lock_guard lock(memory_mutex);
  blocks.erase(static_cast<char *>(pointer));
}

std::optional<Block> block_around(const void *address) {
  std::lock_guard lock(memory_mutex);
  auto *wanted = static_cast<char *>(const_cast<void *>(address));
  auto after = blocks.upper_bound(wanted);
  if (after == blocks.begin()) return std::nullopt;
  const Block &block = std::prev(after)->second;
  return wanted < block.start + block.size ? std::optional(block) : std::nullopt;
}

bool take_physical(int device, size_t size) {
  std::lock_guard lock(memory_mutex);
  if (memories[device].used + size > device_memory()) return false;
  memories[device].used += size;
  return true;
}

void give_physical(int device, size_t size) {
  std::lock_guard lock(memory_mutex);
  memories[device].used -= size;
}

Backing backing(const Block &block, const void *address) {
  const DeviceMemory &memory = memories[block.device];
  return {memory.file, static_cast<const char *>(address) - memory.base};
}

}  // namespace soft_cann

using namespace soft_cann;

EXPORT aclError aclrtMalloc(void **pointer, size_t size, aclrtMemMallocPolicy) {
  if (current_device() < 0) return ACL_ERROR_RT_CONTEXT_NULL;
  return allocate(pointer, size, current_device());
}

EXPORT aclError aclrtMallocAlign32(void **pointer, size_t size, aclrtMemMallocPolicy policy) {
  return aclrtMalloc(pointer, size, policy);
}

EXPORT aclError aclrtFree(void *pointer) { return release(pointer); }
EXPORT aclError aclrtMallocHost(void **pointer, size_t size) { return allocate(pointer, size, kHost); }

EXPORT aclError aclrtMallocHostWithCfg(void **pointer, uint64_t size, aclrtMallocConfig *) {
  return allocate(pointer, size, kHost);
}

EXPORT aclError aclrtFreeHost(void *pointer) { return release(pointer); }

EXPORT aclError aclrtHostRegister(void *pointer, uint64_t size, aclrtHostRegisterType, void **on_device) {
  remember_host(pointer, size);
  *on_device = pointer;
  return ACL_SUCCESS;
}

EXPORT aclError aclrtHostRegisterV2(void *pointer, uint64_t size, uint32_t) {
  remember_host(pointer, size);
  return ACL_SUCCESS;
}

EXPORT aclError aclrtHostUnregister(void *pointer) {
  forget_host(pointer);
  return ACL_SUCCESS;
}

EXPORT aclError aclrtPointerGetAttributes(const void *pointer, aclrtPtrAttributes *attributes) {
  std::memset(attributes, 0, sizeof *attributes);
  attributes->pageSize = kPage;
  auto block = block_around(pointer);
  attributes->location.type = !block                  ? ACL_MEM_LOCATION_TYPE_UNREGISTERED
                              : block->device == kHost ? ACL_MEM_LOCATION_TYPE_HOST
                                                       : ACL_MEM_LOCATION_TYPE_DEVICE;
  attributes->location.id = block ? uint32_t(std::max(block->device, 0)) : 0;
  return ACL_SUCCESS;
}

EXPORT aclError aclrtGetMemInfo(aclrtMemAttr, size_t *free, size_t *total) {
  if (current_device() < 0) return ACL_ERROR_RT_CONTEXT_NULL;
  *total = device_memory();
  *free = *total - memories[current_device()].used;
  return ACL_SUCCESS;
}

// The headers of older releases declare the number of a device with a sign, or without.
template <typename Function>
struct Parameters;
template <typename Result, typename First, typename... Others>
struct Parameters<Result(First, Others...)> {
  using Device = First;
};

EXPORT aclError aclrtGetMemUsageInfo(Parameters<decltype(aclrtGetMemUsageInfo)>::Device device,
                                     aclrtMemUsageInfo *usage, size_t room, size_t *count) {
  if (!room || !is_device(device)) return ACL_ERROR_RT_PARAM_INVALID;
  std::memset(usage, 0, sizeof *usage);
  std::strcpy(usage->name, "soft CANN");
  usage->curMemSize = usage->memPeakSize = memories[device].used;
  *count = 1;
  return ACL_SUCCESS;
}
