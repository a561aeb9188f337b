// What the parts of the soft CANN share: how they export, how they fail, and how they are set.
#pragma once

#include <cstdlib>

#define EXPORT extern "C" __attribute__((visibility("default")))

// Keeps a message for aclGetRecentErrMsg() and returns the code.
extern "C" int soft_cann_fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

namespace soft_cann {

inline const char *setting(const char *variable, const char *otherwise) {
  const char *value = std::getenv(variable);
  return value && *value ? value : otherwise;
}

inline long setting(const char *variable, long otherwise) {
  const char *value = std::getenv(variable);
  return value && *value ? std::strtol(value, nullptr, 0) : otherwise;
}

// Puts CPU kernels in the place of torch_npu's; called at the first use of a device.
void install_kernels();

}  // namespace soft_cann
