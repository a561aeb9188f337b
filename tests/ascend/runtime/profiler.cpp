// The profiler's and the driver's entry points: they take what they are told, and report nothing.
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "soft_cann.h"

// FNV-1a
EXPORT uint64_t MsprofGetHashId(const char *text, size_t length) {
  uint64_t hash = 0xcbf29ce484222325ull;
  for (size_t i = 0; i < length; i++) hash = (hash ^ uint8_t(text[i])) * 0x100000001b3ull;
  return hash;
}

EXPORT uint64_t MsprofSysCycleTime() {
  return uint64_t(std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1));
}

EXPORT int32_t MsprofRegisterCallback(uint32_t, void *) { return 0; }
EXPORT int32_t MsprofReportApi(uint32_t, const void *) { return 0; }
EXPORT int32_t MsprofReportCompactInfo(uint32_t, const void *, uint32_t) { return 0; }
EXPORT int32_t MsprofReportAdditionalInfo(uint32_t, const void *, uint32_t) { return 0; }

EXPORT int32_t halGetDeviceInfo(uint32_t, int32_t, int32_t, int64_t *value) {
  *value = 50000;
  return 0;
}

EXPORT int32_t halGetAPIVersion(int32_t *version) {
  *version = 0x071a00;
  return 0;
}
