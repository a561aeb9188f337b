// How many devices there are, which one a thread uses, and how much memory each has.
#pragma once

#include <cstddef>
#include <cstdint>

namespace soft_cann {

constexpr int kMostDevices = 16;

int device_count();
// The number that a device has in the machine, hidden ones counted.
int place_of(uint32_t device);
// -1 when the thread has chosen none and there is no default.
int current_device();
size_t device_memory();
void set_default_device(int device);

inline bool is_device(int64_t device) { return device >= 0 && device < device_count(); }

}  // namespace soft_cann
