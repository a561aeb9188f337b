// What the handles of textures and of surfaces stand for. No handle is given twice: that of what is gone finds nothing.
#pragma once

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <vector>

namespace morph_cuda {

template <class T>
class Objects {
 public:
  using Handle = unsigned long long;

  Handle add(const T& object) {  // 0: there are too many
    std::lock_guard<std::mutex> lock(mutex_);
    if (free_.empty() && used_ == kMost) return 0;
    size_t index = used_;
    if (free_.empty()) used_++;
    else index = free_.back(), free_.pop_back();
    places_[index].object = object;
    Handle handle = ++made_ * kMost + index;
    places_[index].handle.store(handle, std::memory_order_release);
    return handle;
  }
  bool remove(Handle handle) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!find(handle)) return false;
    places_[handle % kMost].handle = 0;
    free_.push_back(handle % kMost);
    return true;
  }
  T* find(Handle handle) {
    Place& place = places_[handle % kMost];
    return handle && place.handle.load(std::memory_order_acquire) == handle ? &place.object : nullptr;
  }
  template <class F>
  void each(F call) {
    std::lock_guard<std::mutex> lock(mutex_);
    for (size_t index = 0; index < used_; index++)
      if (places_[index].handle) call(places_[index].object);
  }

 private:
  static constexpr size_t kMost = 1 << 16;
  struct Place {
    std::atomic<Handle> handle;
    T object;
  };

  Place* const places_ = static_cast<Place*>(std::calloc(kMost, sizeof(Place)));  // pages that are not used take none
  std::mutex mutex_;
  std::vector<size_t> free_;
  size_t used_ = 0, made_ = 0;
};

}  // namespace morph_cuda
