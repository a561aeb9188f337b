// thrust's vectors: both kinds are in memory of the host that kernels can use.
#pragma once

#include <initializer_list>
#include <vector>

#include "morph/thrust_iterators.h"

namespace thrust {
namespace detail {

template <class T, class Pointer, class ConstPointer>
class Vector {
  using Kept = std::conditional_t<std::is_same_v<T, bool>, unsigned char, T>;  // std::vector<bool> has no elements

 public:
  using value_type = T;
  using size_type = size_t;
  using difference_type = std::ptrdiff_t;
  using reference = T&;
  using const_reference = const T&;
  using pointer = Pointer;
  using const_pointer = ConstPointer;
  using iterator = Pointer;
  using const_iterator = ConstPointer;

  Vector() = default;
  explicit Vector(size_t n) : kept_(n) {}
  Vector(size_t n, const T& value) : kept_(n, Kept(value)) {}
  Vector(std::initializer_list<T> values) : kept_(values.begin(), values.end()) {}
  template <class I, class = typename std::iterator_traits<I>::iterator_category>
  Vector(I first, I last) : kept_(first, last) {}
  template <class U, class P, class C>
  Vector(const Vector<U, P, C>& other) : kept_(other.begin(), other.end()) {}
  template <class U, class A>
  Vector(const std::vector<U, A>& other) : kept_(other.begin(), other.end()) {}

  template <class U, class A>
  friend bool operator==(const Vector& a, const std::vector<U, A>& b) {
    return a.size() == b.size() && std::equal(a.kept_.begin(), a.kept_.end(), b.begin());
  }
  size_t size() const { return kept_.size(); }
  size_t capacity() const { return kept_.capacity(); }
  bool empty() const { return kept_.empty(); }
  void resize(size_t n) { kept_.resize(n); }
  void resize(size_t n, const T& value) { kept_.resize(n, Kept(value)); }
  void reserve(size_t n) { kept_.reserve(n); }
  void shrink_to_fit() { kept_.shrink_to_fit(); }
  void clear() { kept_.clear(); }
  void push_back(const T& value) { kept_.push_back(Kept(value)); }
  void pop_back() { kept_.pop_back(); }
  void swap(Vector& other) { kept_.swap(other.kept_); }
  void assign(size_t n, const T& value) { kept_.assign(n, Kept(value)); }
  template <class I, class = typename std::iterator_traits<I>::iterator_category>
  void assign(I first, I last) { kept_.assign(first, last); }
  iterator erase(iterator first, iterator last) {
    kept_.erase(kept_.begin() + (first - begin()), kept_.begin() + (last - begin()));
    return first;
  }

  Pointer data() { return Pointer(raw()); }
  ConstPointer data() const { return ConstPointer(raw()); }
  Pointer begin() { return data(); }
  Pointer end() { return data() + std::ptrdiff_t(size()); }
  ConstPointer begin() const { return data(); }
  ConstPointer end() const { return data() + std::ptrdiff_t(size()); }
  ConstPointer cbegin() const { return begin(); }
  ConstPointer cend() const { return end(); }
  T& operator[](size_t i) { return raw()[i]; }
  const T& operator[](size_t i) const { return raw()[i]; }
  T& front() { return raw()[0]; }
  const T& front() const { return raw()[0]; }
  T& back() { return raw()[size() - 1]; }
  const T& back() const { return raw()[size() - 1]; }

 private:
  T* raw() { return reinterpret_cast<T*>(kept_.data()); }
  const T* raw() const { return reinterpret_cast<const T*>(kept_.data()); }

  std::vector<Kept, morph_cuda::VectorsMemory<Kept>> kept_;
};

}  // namespace detail

template <class T, class A = void>
struct device_vector : detail::Vector<T, device_ptr<T>, device_ptr<const T>> {
  using detail::Vector<T, device_ptr<T>, device_ptr<const T>>::Vector;
};
template <class T, class A = void>
struct host_vector : detail::Vector<T, T*, const T*> {
  using detail::Vector<T, T*, const T*>::Vector;
};
template <class T, class A = void>
struct universal_vector : detail::Vector<T, T*, const T*> {
  using detail::Vector<T, T*, const T*>::Vector;
};

}  // namespace thrust
