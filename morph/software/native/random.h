// The CPU's generators, seeded from a generator of the device.
#pragma once

#include <ATen/CPUGeneratorImpl.h>

#include <mutex>

namespace software {

// A generator of this thread's for the CPU's kernel. The device generator, the default one unless another is wanted,
// moves on as it does on a GPU.
at::Generator seeded_generator(const std::optional<at::Generator>& wanted, c10::Device device);

// For a kernel that asks for the CPU's default generator: that one is seeded meanwhile, and as before afterwards.
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
