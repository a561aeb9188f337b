// Copying and filling memory. Host and device are one, and a stream's work is done at once.
#include <cstring>
#include <vector>

#include "acl/acl.h"
#include "acl/error_codes/rt_error_codes.h"
#include "runtime/capture.h"
#include "runtime/memory.h"
#include "soft_cann.h"

namespace {

using soft_cann::Graph;

// Pageable memory may be gone when the graph is replayed, so what it holds now is what is copied then.
void record_copy(Graph &graph, void *to, const void *from, size_t size) {
  graph.preserve(to, size);
  if (soft_cann::block_around(from)) {
    graph.add([=] { std::memmove(to, from, size); });
  } else {
    auto *bytes = static_cast<const char *>(from);
    graph.add([to, content = std::vector<char>(bytes, bytes + size)] {
      std::memcpy(to, content.data(), content.size());
    });
  }
}

void record_fill(Graph &graph, void *to, int32_t value, size_t size) {
  graph.preserve(to, size);
  graph.add([=] { std::memset(to, value, size); });
}

}  // namespace

EXPORT aclError aclrtMemcpy(void *to, size_t room, const void *from, size_t size, aclrtMemcpyKind) {
  if (size > room) return soft_cann_fail(ACL_ERROR_RT_PARAM_INVALID, "a copy of %zu bytes into %zu", size, room);
  std::memmove(to, from, size);
  return ACL_SUCCESS;
}

EXPORT aclError aclrtMemcpyAsync(void *to, size_t room, const void *from, size_t size, aclrtMemcpyKind kind,
                                 aclrtStream) {
  Graph *graph = soft_cann::captured_graph();
  if (graph && size <= room) record_copy(*graph, to, from, size);
  return aclrtMemcpy(to, room, from, size, kind);
}

EXPORT aclError aclrtMemcpyAsyncWithCondition(void *to, size_t room, const void *from, size_t size,
                                              aclrtMemcpyKind kind, aclrtStream stream) {
  return aclrtMemcpyAsync(to, room, from, size, kind, stream);
}

EXPORT aclError aclrtMemcpyBatch(void **to, size_t *rooms, void **from, size_t *sizes, size_t count,
                                 aclrtMemcpyBatchAttr *, size_t *, size_t, size_t *failed) {
  for (size_t i = 0; i < count; i++) {
    if (aclError error = aclrtMemcpy(to[i], rooms[i], from[i], sizes[i], ACL_MEMCPY_DEFAULT)) {
      *failed = i;
      return error;
    }
  }
  return ACL_SUCCESS;
}

EXPORT aclError aclrtMemcpyBatchAsync(void **to, size_t *rooms, void **from, size_t *sizes, size_t count,
                                      aclrtMemcpyBatchAttr *attributes, size_t *indices, size_t attribute_count,
                                      size_t *failed, aclrtStream) {
  return aclrtMemcpyBatch(to, rooms, from, sizes, count, attributes, indices, attribute_count, failed);
}

EXPORT aclError aclrtMemset(void *to, size_t room, int32_t value, size_t size) {
  if (size > room) return ACL_ERROR_RT_PARAM_INVALID;
  std::memset(to, value, size);
  return ACL_SUCCESS;
}

EXPORT aclError aclrtMemsetAsync(void *to, size_t room, int32_t value, size_t size, aclrtStream) {
  Graph *graph = soft_cann::captured_graph();
  if (graph && size <= room) record_fill(*graph, to, value, size);
  return aclrtMemset(to, room, value, size);
}
