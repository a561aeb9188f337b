// cuda::annotated_ptr and its kin: hints to a GPU's caches, without an effect here.
// libcu++, "Extended API", "Memory Access Properties": https://nvidia.github.io/cccl/libcudacxx/extended_api.html
#pragma once

#include <cstddef>

namespace cuda {

class access_property {
 public:
  struct shared {};
  struct global {};
  struct normal {};
  struct persisting {};
  struct streaming {};

  template <class... Hints>
  constexpr access_property(const Hints&...) noexcept {}
};

template <class T, class Property>
T* associate_access_property(T* pointer, Property) noexcept {
  return pointer;
}
template <class Shape, class Property>
void apply_access_property(const volatile void*, Shape, Property) noexcept {}
template <class Shape>
void discard_memory(volatile void*, Shape) noexcept {}

template <class T, class Property = access_property>
class annotated_ptr {
 public:
  using element_type = T;
  constexpr annotated_ptr() noexcept = default;
  constexpr explicit annotated_ptr(T* pointer) noexcept : pointer_(pointer) {}
  template <class Kind>
  annotated_ptr(T* pointer, Kind) noexcept : pointer_(pointer) {}
  template <class Other, class Kind>
  annotated_ptr(const annotated_ptr<Other, Kind>& other) noexcept : pointer_(other.get()) {}

  T& operator*() const noexcept { return *pointer_; }
  T* operator->() const noexcept { return pointer_; }
  T& operator[](ptrdiff_t place) const noexcept { return pointer_[place]; }
  ptrdiff_t operator-(annotated_ptr other) const noexcept { return pointer_ - other.pointer_; }
  explicit operator bool() const noexcept { return pointer_; }
  T* get() const noexcept { return pointer_; }

 private:
  T* pointer_ = nullptr;
};

}  // namespace cuda
