// Assertions in kernels: on CUDA an index out of range ends the context, and every later call fails.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <string>

namespace software {

extern std::atomic<bool> context_in_doubt;  // it is lost, or a fault on purpose may lose it
void examine_context();                      // raises if it is lost
// Ends the context by an error of a kernel.
[[noreturn]] void lose_context(int32_t code, const std::string& words = "");
inline void refuse_if_lost() {
  if (context_in_doubt.load(std::memory_order_relaxed)) [[unlikely]] examine_context();
}

// Raises CUDA's error in place of one that a kernel of the CPU raised for a value on the device, whatever its words if
// it `is_assertion`; returns for others, and with MORPH_DEVICE_ASSERTS=0.
void assert_on_device(const std::exception& error, bool is_assertion = false);

}  // namespace software
