// Copies of cooperative groups that end later: each ends a group of copies of every thread, as __pipeline_commit does.
// CUDA C++ Programming Guide, "Cooperative Groups", "Data transfer".
#pragma once

#include "morph/groups.h"
#include "morph/shapes.h"

#ifdef __CUDACC__

namespace cooperative_groups {

template <class Group, class T, class Bytes>
inline void memcpy_async(const Group& group, T* to, const T* from, const Bytes& bytes) {
  morph_cuda::Part part = morph_cuda::part_of(group, to, from, size_t(bytes));
  morph_cuda::copy_later(part.to, part.from, part.size, 0);
  morph_cuda::end_group_of_copies();
}
// Of elements as many as there are in both.
template <class Group, class T, class Count, class FromCount>
inline void memcpy_async(const Group& group, T* to, const Count& count, const T* from, const FromCount& from_count) {
  size_t room = size_t(count), there = size_t(from_count);
  memcpy_async(group, to, from, (room < there ? room : there) * sizeof(T));
}

template <unsigned groups_left, class Group>
inline void wait_prior(const Group& group) {
  morph_cuda::wait_for_copies(groups_left);
  group.sync();
}
template <class Group>
inline void wait(const Group& group) {
  wait_prior<0>(group);
}

}  // namespace cooperative_groups

#endif
