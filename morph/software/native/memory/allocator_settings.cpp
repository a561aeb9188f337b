// PYTORCH_ALLOC_CONF: torch reads the settings that all devices share; these are those of CUDA's allocator. None
// makes a difference in host memory; an invalid value is refused, as on a GPU.
#include "device/device.h"

#if __has_include(<c10/core/AllocatorConfig.h>)  // torch 2.9
#include <c10/core/AllocatorConfig.h>

#include <cstdlib>
#include <cstring>

namespace software {
namespace {

using c10::CachingAllocator::AcceleratorAllocatorConfig;
using c10::CachingAllocator::ConfigTokenizer;
constexpr size_t kMostThreads = 128;

// The backend is chosen once, by the environment.
const char* backend() {
  for (const char* name : {"PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF"}) {
    const char* text = std::getenv(name);
    if (text && std::strstr(text, "cudaMallocAsync")) return "cudaMallocAsync";
  }
  return "native";
}

void check_threads(size_t threads) {
  TORCH_CHECK_VALUE(threads && !(threads & (threads - 1)), "Number of register threads has to be power of 2, got ", threads);
  TORCH_CHECK_VALUE(threads <= kMostThreads, "Number of register threads should be less than or equal to ", kMostThreads,
                    ", got ", threads);
}

void check(const std::string& key, const ConfigTokenizer& tokens, size_t value) {
  if (key == "backend") {
    bool known = tokens[value] == "native" || tokens[value] == "cudaMallocAsync";
    TORCH_CHECK_VALUE(known, "Unknown allocator backend, options are native and cudaMallocAsync");
    TORCH_CHECK(tokens[value] == backend(), "Allocator backend parsed at runtime != allocator backend parsed at load time, ",
                tokens[value], " != ", backend());
  } else if (key == "pinned_num_register_threads") {
    check_threads(tokens.toSizeT(value));
  } else if (key == "pinned_reserve_segment_size_mb") {
    TORCH_CHECK_VALUE(tokens.toSizeT(value) > 0, "Pinned reserve segment size has to be greater than 0");
  } else {
    tokens.toBool(value);
  }
}

const std::unordered_set<std::string>& keys() {
  static const std::unordered_set<std::string> all{
      "backend", "release_lock_on_cudamalloc", "release_lock_on_hipmalloc", "pinned_use_cuda_host_register",
      "pinned_use_hip_host_register", "pinned_num_register_threads", "pinned_reserve_segment_size_mb",
      "graph_capture_record_stream_reuse"};
  return all;
}

void parse(const std::string& text) {
  ConfigTokenizer tokens(text);
  for (size_t i = 0; i < tokens.size(); i++) {
    const std::string key = tokens[i];
    i = tokens.skipKey(i);
    if (keys().count(key)) check(key, tokens, i);
    if (i + 1 < tokens.size()) i++;  // the comma
  }
}

// A torch built with CUDA has registered its allocator's keys already, and torch refuses a second registration.
std::unordered_set<std::string> keys_to_take() {
  std::unordered_set<std::string> all = keys();
  for (const std::string& taken : AcceleratorAllocatorConfig::getKeys()) all.erase(taken);
  return all;
}

size_t divisions_for(size_t bytes) { return AcceleratorAllocatorConfig::roundup_power2_divisions(bytes); }

}  // namespace

void install_allocator_settings() {
  if (settings().type == c10::DeviceType::CUDA)
    AcceleratorAllocatorConfig::registerDeviceConfigParserHook(&parse, keys_to_take());
}
#else

namespace software {
namespace {

size_t divisions_for(size_t) { return 0; }

}  // namespace

void install_allocator_settings() {}
#endif

size_t rounded_as_set(size_t bytes, size_t unit) {
  if (bytes <= unit) return unit;
  auto round_to = [bytes](size_t step) { return (bytes + step - 1) / step * step; };
  size_t divisions = settings().type == c10::DeviceType::CUDA ? divisions_for(bytes) : 0;
  if (divisions <= 1 || bytes <= unit * divisions) return round_to(unit);
  size_t below = size_t(1) << (63 - __builtin_clzll(bytes - 1));  // the power of two below
  return round_to(std::max(unit, below / divisions));
}

}  // namespace software
