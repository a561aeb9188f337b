// See random.h.
#include "device/random.h"

#include "device/device.h"

#include <ATen/Context.h>

namespace software {
namespace {

using Wanted = std::optional<at::Generator>;

// SplitMix64's finalizer. The CPU's generator reads only the low 32 bits of a seed.
uint64_t mixed(uint64_t bits) {
  bits += 0x9E3779B97F4A7C15ull;
  bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9ull;
  bits = (bits ^ bits >> 27) * 0x94D049BB133111EBull;
  return bits ^ bits >> 31;
}

uint64_t next_seed(const Wanted& wanted, c10::Device device) {
  at::Generator generator = wanted && wanted->defined() ? *wanted : at::globalContext().defaultGenerator(device);
  TORCH_CHECK(generator.device().type() == settings().type, "Expected a '",
              c10::DeviceTypeName(settings().type, true), "' device type for generator but found '",
              c10::DeviceTypeName(generator.device().type(), true), "'");
  std::lock_guard<std::mutex> lock(generator.mutex());
  uint64_t offset = generator.get_offset();
  generator.set_offset(offset + 4);  // a GPU's random kernels move it by multiples of four
  return mixed(mixed(generator.current_seed()) + offset);
}

at::CPUGeneratorImpl& host_default() {
  return *static_cast<at::CPUGeneratorImpl*>(at::detail::getDefaultCPUGenerator().unsafeGetGeneratorImpl());
}

void copy_state(at::CPUGeneratorImpl& from, at::CPUGeneratorImpl& to) {
  to.set_engine(from.engine());
  to.set_next_float_normal_sample(from.next_float_normal_sample());
  to.set_next_double_normal_sample(from.next_double_normal_sample());
}

std::recursive_mutex& one_at_a_time = *new std::recursive_mutex;

}  // namespace

at::Generator seeded_generator(const Wanted& wanted, c10::Device device) {
  thread_local at::Generator generator = at::detail::createCPUGenerator();
  uint64_t seed = next_seed(wanted, device);
  std::lock_guard<std::mutex> lock(generator.mutex());
  generator.set_current_seed(seed);
  return generator;
}

SeededDefault::SeededDefault(c10::Device device) : alone_(one_at_a_time) {
  uint64_t seed = next_seed(std::nullopt, device);
  std::lock_guard<std::mutex> lock(host_default().mutex_);
  copy_state(host_default(), saved_);
  host_default().set_current_seed(seed);
}

SeededDefault::~SeededDefault() {
  std::lock_guard<std::mutex> lock(host_default().mutex_);
  copy_state(saved_, host_default());
}

}  // namespace software
