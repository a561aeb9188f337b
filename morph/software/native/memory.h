// Where a kernel of the CPU takes its memory from.
#pragma once

#include <c10/core/Device.h>

namespace software {

void free_device_memory(void* pointer);  // the deleter of all memory that an arena gave
int64_t releases_of_memory(c10::DeviceIndex index);

// What this thread allocates as host memory meanwhile is the device's, so that a result can become a tensor of it.
class TakingFrom {
 public:
  explicit TakingFrom(c10::DeviceIndex index);
  ~TakingFrom();
  TakingFrom(const TakingFrom&) = delete;
  TakingFrom& operator=(const TakingFrom&) = delete;

 private:
  c10::DeviceIndex previous_;
};

}  // namespace software
