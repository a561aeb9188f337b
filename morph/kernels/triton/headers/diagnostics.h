// Printing and assertions of a kernel.
#pragma once
#include "launch.h"

[[noreturn]] static void stop(const char* message, Instance instance) {
  fail(*launch_of_thread, "assertion failed in instance (%d, %d, %d): %s", instance.x, instance.y, instance.z, message);
  throw Stopped();
}

static void print_line(Instance instance, const char* prefix) {
  std::printf("pid (%d, %d, %d)%s\n", instance.x, instance.y, instance.z, prefix);
  std::fflush(stdout);
}

template <class T>
static int format_element(char* text, size_t size, T value, bool is_hexadecimal, bool is_signed) {
  if constexpr (std::is_pointer_v<T>) {
    return std::snprintf(text, size, "%p", (const void*)value);
  } else if constexpr (std::is_integral_v<T>) {
    if (is_hexadecimal) {
      if constexpr (std::is_same_v<T, bool>) return std::snprintf(text, size, "0x%x", int(value));
      else return std::snprintf(text, size, "0x%0*llx", int(sizeof(T) * 2), (unsigned long long)std::make_unsigned_t<T>(value));
    }
    if constexpr (std::is_same_v<T, bool>) return std::snprintf(text, size, "%d", int(value));
    else if (is_signed) return std::snprintf(text, size, "%lld", (long long)value);
    else return std::snprintf(text, size, "%llu", (unsigned long long)std::make_unsigned_t<T>(value));
  } else {
    return std::snprintf(text, size, "%f", double(value));
  }
}

template <class T>
static void print_element(Instance instance, const char* prefix, const int* places, int rank, int operand, int operands,
                          T value, bool is_hexadecimal, bool is_signed) {
  char text[1024];
  size_t used = std::snprintf(text, sizeof text, "pid (%d, %d, %d) idx (", instance.x, instance.y, instance.z);
  for (int axis = 0; axis < rank; ++axis)
    used += std::snprintf(text + used, sizeof text - used, axis ? ", %d" : "%d", places[axis]);
  used += std::snprintf(text + used, sizeof text - used, ")%.600s", prefix);
  if (operands > 1) used += std::snprintf(text + used, sizeof text - used, "(operand %d) ", operand);
  format_element(text + used, sizeof text - used, value, is_hexadecimal, is_signed);
  std::printf("%s\n", text);
  std::fflush(stdout);
}
