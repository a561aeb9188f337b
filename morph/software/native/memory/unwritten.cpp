// See unwritten.h.
#include "memory/unwritten.h"

#include "device/captures.h"
#include "memory/hidden.h"
#include "memory/location.h"

#include <pybind11/pybind11.h>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace software {
namespace {

constexpr size_t kWord = 4, kMost = size_t(1) << 30;  // more is not filled: it would be the host's memory at once

uintptr_t as_number(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }
size_t words(size_t bytes) { return (bytes + kWord - 1) / kWord; }

// Neither the NaN of x86 (no other bit) nor of CUDA (all bits): the last two are 01.
uint32_t mark_of(uintptr_t word) { return 0x7fc00001u | (uint32_t(word) * 0x9e3779b1u >> 10 & 0x3ffffcu); }

// They hand on what they read, or use a shape alone.
bool moves(std::string_view name) {
  static constexpr std::string_view movers[] = {"clone", "cat", "stack", "_to_copy", "contiguous", "_foreach_copy_"};
  return std::find(std::begin(movers), std::end(movers), name) != std::end(movers);
}

// What they change they read.
bool reads_own(std::string_view name) {
  static constexpr std::string_view readers[] = {"add_",  "sub_",  "mul_",       "div_",        "addcmul_", "addcdiv_",
                                                 "lerp_", "neg_",  "index_add_", "scatter_add_"};
  return std::find(std::begin(readers), std::end(readers), name) != std::end(readers);
}

size_t extent(const at::Tensor& tensor) {  // bytes from the first to the last element
  size_t elements = 1;
  for (int64_t i = 0; i < tensor.dim(); i++) elements += size_t(tensor.size(i) - 1) * size_t(tensor.stride(i));
  return elements * tensor.itemsize();
}

bool is_nothing_written(const at::Tensor& tensor) {
  if (tensor.layout() != c10::kStrided || !tensor.numel() || !tensor.has_storage() || tensor._is_zerotensor()) return false;
  const void* start = tensor.const_data_ptr();
  size_t bytes = extent(tensor);
  bool is_dummy = bytes == tensor.itemsize() && tensor.numel() > 1;  // as those of functorch, for a shape
  if (!start || is_dummy) return false;
  bytes -= std::min(bytes, (as_number(start) + bytes) % kWord);  // the rest of a word is no proof
  return bytes && is_unwritten(start, std::min(bytes, kWord)) && is_unwritten(start, bytes);
}

void refuse_read(std::string_view name, const at::Tensor& tensor) {
  namespace py = pybind11;
  py::gil_scoped_acquire gil;
  uintptr_t start = as_number(known(const_cast<void*>(tensor.storage().data())));
  py::object text = py::module_::import("morph.software.sanitizing").attr("unwritten")(name, start);
  if (py::len(text)) C10_THROW_ERROR(Error, text.cast<std::string>());
}

}  // namespace

void begin_to_mark() { marks_unwritten = true; }

void mark_unwritten(void* start, size_t bytes) {
  auto* to = static_cast<uint32_t*>(usable(start));
  uintptr_t word = as_number(start) / kWord;
  for (size_t i = 0, count = words(bytes); i < count; i++) to[i] = mark_of(word + i);
}

bool is_unwritten(const void* start, size_t bytes) {
  uintptr_t address = as_number(known(const_cast<void*>(start))), first = address / kWord;
  const auto* at = static_cast<const char*>(usable(reinterpret_cast<void*>(first * kWord)));
  for (size_t i = 0, count = words(address % kWord + bytes); i < count; i++) {
    uint32_t found;
    std::memcpy(&found, at + i * kWord, kWord);
    if (found != mark_of(first + i)) return false;
  }
  return true;
}

void mark_allocation(void* start, size_t bytes) {
  if (marks_unwritten && start && bytes <= kMost) mark_unwritten(start, bytes);
}

void check_read(const char* whole, const at::Tensor& tensor, bool is_changed) {
  if (is_any_capturing()) return;  // nothing is computed
  std::string_view name(whole);
  name.remove_prefix(name.starts_with("aten::") ? 6 : 0);
  if (is_changed ? !reads_own(name) : moves(name)) return;
  if (is_nothing_written(tensor)) refuse_read(name, tensor);
}

}  // namespace software
