// The bytes of a tensor.
#include "device/order.h"

#include <c10/util/SmallVector.h>

#include <algorithm>

namespace software {
namespace {

constexpr int64_t kMostPieces = 64;  // of a tensor with gaps the first ones are looked at

struct Dimension {
  int64_t stride, size;
};

// From the outermost to the innermost; what repeats an element is left out, and what has no gaps is one.
c10::SmallVector<Dimension, 6> dimensions(const at::Tensor& tensor) {
  c10::SmallVector<Dimension, 6> all;
  for (int64_t i = 0; i < tensor.dim(); i++)
    if (tensor.size(i) != 1 && tensor.stride(i)) all.push_back({tensor.stride(i), tensor.size(i)});
  std::sort(all.begin(), all.end(), [](auto& one, auto& other) { return one.stride > other.stride; });
  c10::SmallVector<Dimension, 6> merged;
  for (auto it = all.rbegin(); it != all.rend(); ++it) {
    int64_t inner = merged.empty() ? 1 : merged.back().stride * merged.back().size;
    if (it->stride == inner && !merged.empty()) merged.back().size *= it->size;
    else merged.push_back(*it);
  }
  std::reverse(merged.begin(), merged.end());
  return merged;
}

}  // namespace

void add_uses(Uses& all, const at::Tensor& tensor, bool writes) {
  if (!tensor.defined() || tensor.layout() != c10::kStrided || !tensor.has_storage() || !tensor.numel()) return;
  auto itemsize = int64_t(tensor.element_size());
  auto* start = static_cast<const char*>(tensor.storage().data());
  if (!start) return;
  start += tensor.storage_offset() * itemsize;
  auto outer = dimensions(tensor);
  int64_t run = 1;
  if (!outer.empty() && outer.back().stride == 1) run = outer.back().size, outer.pop_back();
  int64_t pieces = 1;
  for (auto& each : outer) pieces *= each.size;
  for (int64_t piece = 0; piece < std::min(pieces, kMostPieces); piece++) {
    int64_t offset = 0, rest = piece;
    for (auto each = outer.rbegin(); each != outer.rend(); ++each) offset += rest % each->size * each->stride, rest /= each->size;
    all.push_back({start + offset * itemsize, size_t(run * itemsize), writes});
  }
}

}  // namespace software
