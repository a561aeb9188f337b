// Errors, and the log of the vendor's package.
#include <cstdarg>
#include <cstdio>

#include "acl/acl.h"
#include "soft_cann.h"

namespace {
thread_local char recent_message[512];
thread_local int last_error = ACL_SUCCESS;
}  // namespace

int soft_cann_fail(int code, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(recent_message, sizeof recent_message, format, arguments);
  va_end(arguments);
  last_error = code;
  if (std::getenv("SOFT_CANN_TRACE")) std::fprintf(stderr, "soft CANN: error %d: %s\n", code, recent_message);
  return code;
}

// What every generated stub calls.
extern "C" int soft_cann_missing(const char *name) {
  return soft_cann_fail(ACL_ERROR_API_NOT_SUPPORT, "the soft CANN does not implement %s", name);
}

EXPORT const char *aclGetRecentErrMsg() { return recent_message; }

EXPORT aclError aclrtGetLastError(aclrtLastErrLevel) {
  int error = last_error;
  last_error = ACL_SUCCESS;
  return error;
}

EXPORT aclError aclrtPeekAtLastError(aclrtLastErrLevel) { return last_error; }

EXPORT void aclAppLog(aclLogLevel level, const char *function, const char *file, uint32_t line, const char *format,
                      ...) {
  if (!std::getenv("SOFT_CANN_LOG")) return;
  va_list arguments;
  va_start(arguments, format);
  std::fprintf(stderr, "soft CANN: log %d: %s:%u %s: ", int(level), file, line, function);
  std::vfprintf(stderr, format, arguments);
  std::fputc('\n', stderr);
  va_end(arguments);
}
