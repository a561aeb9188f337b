// The bounds-checked functions of CANN's libc_sec.so.
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "soft_cann.h"

EXPORT int vsnprintf_s(char *to, size_t room, size_t most, const char *format, va_list arguments) {
  int length = std::vsnprintf(to, most + 1 < room ? most + 1 : room, format, arguments);
  return length < 0 || size_t(length) >= room ? -1 : length;
}

EXPORT int snprintf_s(char *to, size_t room, size_t most, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf_s(to, room, most, format, arguments);
  va_end(arguments);
  return length;
}

EXPORT int strcpy_s(char *to, size_t room, const char *from) {
  if (std::strlen(from) >= room) return ERANGE;
  std::strcpy(to, from);
  return 0;
}
