// Where a CPU kernel allocates its memory.
#pragma once

#include <c10/core/Device.h>

namespace software {

void free_device_memory(void* pointer);  // the deleter of all memory that an arena gave
int64_t releases_of_memory(c10::DeviceIndex index);

// Host memory that this thread allocates meanwhile is device memory, so that a result can become a device tensor.
class TakingFrom {
 public:
  explicit TakingFrom(c10::DeviceIndex index);
  ~TakingFrom();
  TakingFrom(const TakingFrom&) = delete;
  TakingFrom& operator=(const TakingFrom&) = delete;

 private:
  c10::DeviceIndex previous_;
};

// What this thread takes meanwhile and gives back again counts in no peak.
class HoldingPeaks {
 public:
  explicit HoldingPeaks(c10::DeviceIndex index);
  ~HoldingPeaks();
  HoldingPeaks(const HoldingPeaks&) = delete;
  HoldingPeaks& operator=(const HoldingPeaks&) = delete;

 private:
  c10::DeviceIndex index_;
  bool outermost_;
};

}  // namespace software
