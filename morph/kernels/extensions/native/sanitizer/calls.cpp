// See calls.h.
#include "calls.h"

#include "../device.h"
#include "../grid.h"
#include "bounds.h"
#include "checks.h"

#include <c10/util/StringUtil.h>

#include <utility>

namespace morph_cuda::sanitizer {
namespace {

thread_local Call* current = nullptr;

}  // namespace

Call::Call(const char* name, cudaStream_t stream, bool blocks)
    : call_{name, reinterpret_cast<intptr_t>(stream), blocks},
      outer_(are_calls_checked() ? std::exchange(current, this) : nullptr) {}

Call::~Call() {
  if (are_calls_checked()) current = outer_;
}

Call* Call::current_of_thread() { return current; }

void Call::use(const void* start, size_t bytes, bool writes) {
  if (!bytes) return;
  Piece piece{static_cast<const char*>(start), bytes, writes};
  check(piece);
  if (is_order_watched()) pieces_.push_back(piece);
}

void Call::use(const at::Tensor& memory, const void* start, size_t bytes, bool writes) {
  bool is_read_at_once = !writes && !Bounds::is_devices(reinterpret_cast<uintptr_t>(start));
  if (!bytes || is_read_at_once) return;
  check({static_cast<const char*>(start), bytes, writes});
  if (is_order_watched()) order_functions().add(pieces_, memory, writes);
}

void Call::check(const Piece& piece) {
  is_refused_ = true;
  auto address = reinterpret_cast<uintptr_t>(piece.start);
  if (is_memory_checked() && !Bounds().has(address, piece.bytes)) refuse(piece);
  if (is_order_watched()) order_functions().prepare(call_, piece);
  is_refused_ = false;
}

void Call::refuse(const Piece& piece) {
  set_launching();
  std::string where = Bounds::problem(reinterpret_cast<uintptr_t>(piece.start));
  std::string text = c10::str("CUDA error: an illegal memory access was encountered: ", call_.name, ": a ",
                              piece.writes ? "write" : "read", " of ", piece.bytes, " bytes ", where);
  device_functions().note_found("memory", text);
  throw c10::AcceleratorError({__func__, __FILE__, __LINE__}, cudaErrorIllegalAddress, text);
}

void Call::end() {
  if (is_order_watched()) order_functions().queue(call_, pieces_.data(), pieces_.size());
}

}  // namespace morph_cuda::sanitizer
