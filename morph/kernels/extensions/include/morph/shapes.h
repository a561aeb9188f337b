// What a group of threads copies: the shape of it, and each thread's part.
// libcu++, "Extended API", "Memory": https://nvidia.github.io/cccl/libcudacxx/extended_api/memory/aligned_size.html
#pragma once

#include <cstddef>

namespace cuda {

template <size_t alignment>
struct aligned_size_t {
  static constexpr size_t align = alignment;
  size_t value;
  explicit constexpr aligned_size_t(size_t size) : value(size) {}
  constexpr operator size_t() const { return value; }
};

}  // namespace cuda

namespace morph_cuda {

struct Part {
  char* to;
  const char* from;
  size_t size;
};
// Of `size` bytes, those that one of a group's threads copies: as many as the others, one after the other.
template <class Group>
inline Part part_of(const Group& group, void* to, const void* from, size_t size) {
  size_t threads = size_t(group.size()), rank = size_t(group.thread_rank());
  size_t start = size / threads * rank + size % threads * rank / threads;
  size_t end = size / threads * (rank + 1) + size % threads * (rank + 1) / threads;
  return {static_cast<char*>(to) + start, static_cast<const char*>(from) + start, end - start};
}

}  // namespace morph_cuda
