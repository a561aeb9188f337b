// Copying and filling memory. Host and device are one, and a stream's work is done at once.
#include <cstring>

#include "acl/acl.h"
#include "acl/error_codes/rt_error_codes.h"
#include "soft_cann.h"

EXPORT aclError aclrtMemcpy(void *to, size_t room, const void *from, size_t size, aclrtMemcpyKind) {
  if (size > room) return soft_cann_fail(ACL_ERROR_RT_PARAM_INVALID, "a copy of %zu bytes into %zu", size, room);
  std::memmove(to, from, size);
  return ACL_SUCCESS;
}

EXPORT aclError aclrtMemcpyAsync(void *to, size_t room, const void *from, size_t size, aclrtMemcpyKind kind,
                                 aclrtStream) {
  return aclrtMemcpy(to, room, from, size, kind);
}

EXPORT aclError aclrtMemcpyAsyncWithCondition(void *to, size_t room, const void *from, size_t size,
                                              aclrtMemcpyKind kind, aclrtStream) {
  return aclrtMemcpy(to, room, from, size, kind);
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
  return aclrtMemset(to, room, value, size);
}
