// Device memory of one process in another: its key says which file of which process to map.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <map>
#include <mutex>
#include <string>

#include "acl/acl.h"
#include "acl/error_codes/rt_error_codes.h"
#include "runtime/memory.h"
#include "soft_cann.h"

namespace {

struct Mapping {
  void *start;
  size_t size;
};
std::multimap<std::string, Mapping> imported;
std::mutex imported_mutex;

}  // namespace

EXPORT aclError aclrtIpcMemGetExportKey(void *pointer, size_t size, char *key, size_t room, uint64_t) {
  auto block = soft_cann::block_around(pointer);
  if (!block || block->device == soft_cann::kHost)
    return soft_cann_fail(ACL_ERROR_RT_PARAM_INVALID, "%p is no device memory", pointer);
  auto place = soft_cann::backing(*block, pointer);
  std::snprintf(key, room, "%d:%d:%ld:%zu", getpid(), place.file, long(place.offset), size);
  return ACL_SUCCESS;
}

EXPORT aclError aclrtIpcMemSetImportPid(const char *, int32_t *, size_t) { return ACL_SUCCESS; }

EXPORT aclError aclrtIpcMemImportByKey(void **pointer, const char *key, uint64_t) {
  int process, exported;
  long offset;
  size_t size;
  if (std::sscanf(key, "%d:%d:%ld:%zu", &process, &exported, &offset, &size) != 4)
    return ACL_ERROR_RT_PARAM_INVALID;
  std::string path = "/proc/" + std::to_string(process) + "/fd/" + std::to_string(exported);
  int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  void *start = file < 0 ? MAP_FAILED : mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, offset);
  if (file >= 0) close(file);
  if (start == MAP_FAILED) return soft_cann_fail(ACL_ERROR_RT_PARAM_INVALID, "cannot map %s", path.c_str());
  std::lock_guard lock(imported_mutex);
  imported.emplace(key, Mapping{start, size});
  *pointer = start;
  return ACL_SUCCESS;
}

// Called by the importer; the exporter has nothing to undo.
EXPORT aclError aclrtIpcMemClose(const char *key) {
  std::lock_guard lock(imported_mutex);
  auto [first, last] = imported.equal_range(key);
  for (auto entry = first; entry != last; ++entry) munmap(entry->second.start, entry->second.size);
  imported.erase(first, last);
  return ACL_SUCCESS;
}
