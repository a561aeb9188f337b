// Faults on purpose (`--inject`), for a program's own recovery. Where one may happen the device asks whether it does;
// Python keeps the count.
#pragma once

#include "device/device.h"

#include <atomic>

namespace software {

enum class Fault : unsigned { kMemory = 1, kResult = 2, kUse = 4 };  // of an allocation, an operator, any use

inline std::atomic<unsigned> possible_faults{0};
inline bool may_happen(Fault fault) { return possible_faults.load(std::memory_order_relaxed) & unsigned(fault); }

bool does_happen(Fault fault, c10::DeviceIndex index, const char* name = "");
inline bool happens(Fault fault, c10::DeviceIndex index) { return may_happen(fault) && does_happen(fault, index); }

using Decision = std::function<bool(Fault fault, c10::DeviceIndex index, const char* name)>;
void expect_faults(unsigned possible, Decision decide);

}  // namespace software
