// Random operators on the host draw what the device's generator decides.
#pragma once

#include <ATen/core/Generator.h>
#include <c10/core/Device.h>

#include <optional>

namespace soft_cann {

// While it lives, the host's default generator is seeded from a generator of the device, whose offset has
// moved on; then the host's generator is as it was.
class SeededFromDevice {
 public:
  // Without a generator of the device, the device's default one.
  SeededFromDevice(const std::optional<at::Generator> &generator, c10::Device device);
  ~SeededFromDevice();
  SeededFromDevice(const SeededFromDevice &) = delete;

 private:
  at::Generator host_;
  at::Tensor saved_state_;
};

}  // namespace soft_cann
