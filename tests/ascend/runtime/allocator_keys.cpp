// torch_npu since 2.12 is built for torch's CPU build. Under a CUDA build it ends the process, because both register
// the same keys of the allocators' configuration. This library is loaded before torch_npu registers its own, and
// takes back those of CUDA, which has no driver here.
#include <version>
#if __has_include(<c10/core/AllocatorConfig.h>)
#include <c10/core/AllocatorConfig.h>

namespace {

using Keys = std::unordered_set<std::string>;

const Keys kOfEveryDevice = {
    "large_segment_size_mb",
    "max_split_size_mb",
    "max_non_split_rounding_mb",
    "garbage_collection_threshold",
    "roundup_power2_divisions",
    "expandable_segments",
    "pinned_use_background_threads",
};

template <typename Config>
int take_back_keys() {
  if constexpr (requires { Config::getKeys(); })
    std::erase_if(const_cast<Keys &>(Config::getKeys()), [](auto &key) { return !kOfEveryDevice.contains(key); });
  return 0;
}

[[maybe_unused]] const int taken_back = take_back_keys<c10::CachingAllocator::AcceleratorAllocatorConfig>();

}  // namespace
#endif
