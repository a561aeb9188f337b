#include "kernels/seeding.h"

#include <ATen/CPUGeneratorImpl.h>
#include <torch_npu/csrc/aten/NPUGeneratorImpl.h>

#include <mutex>

#include "runtime/capture.h"

namespace soft_cann {
namespace {

constexpr uint64_t kOffsetOfOneCall = 4;
constexpr uint64_t kGoldenRatio = 0x9E3779B97F4A7C15ull;

uint64_t draw_seed(at::Generator generator) {
  // torch_npu forbids asking a generator while a graph is captured; each replay asks it.
  if (captured_graph()) return 0;
  std::lock_guard lock(generator.mutex());
  uint64_t seed = generator.current_seed() * kGoldenRatio + generator.get_offset();
  generator.set_offset(generator.get_offset() + kOffsetOfOneCall);
  return seed;
}

}  // namespace

SeededFromDevice::SeededFromDevice(const std::optional<at::Generator> &generator, c10::Device device)
    : host_(at::detail::getDefaultCPUGenerator()) {
  bool usable = generator && generator->defined() && generator->device().type() == device.type();
  uint64_t seed = draw_seed(usable ? *generator : at_npu::detail::getDefaultNPUGenerator(device.index()));
  std::lock_guard lock(host_.mutex());
  saved_state_ = host_.get_state();
  host_.set_current_seed(seed);
}

SeededFromDevice::~SeededFromDevice() {
  std::lock_guard lock(host_.mutex());
  host_.set_state(saved_state_);
}

}  // namespace soft_cann
