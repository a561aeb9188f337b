// The CPU's generators, seeded from a generator of the device.
#pragma once

#include <ATen/CPUGeneratorImpl.h>

#include <mutex>

namespace software {

// A generator of this thread for the CPU's kernel. The device's generator, by default its default one,
// advances as it does on a GPU.
at::Generator seeded_generator(const std::optional<at::Generator>& wanted, c10::Device device);

// For a kernel that uses the CPU's default generator: seeds it, and restores it afterwards.
class SeededDefault {
 public:
  explicit SeededDefault(c10::Device device);
  ~SeededDefault();
  SeededDefault(const SeededDefault&) = delete;
  SeededDefault& operator=(const SeededDefault&) = delete;

 private:
  std::unique_lock<std::recursive_mutex> alone_;
  at::CPUGeneratorImpl saved_;
};

}  // namespace software
