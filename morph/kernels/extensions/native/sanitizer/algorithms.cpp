// See algorithms.h.
#include "algorithms.h"

#include "../block.h"
#include "../device.h"
#include "../grid.h"
#include "checks.h"
#include "morph/access.h"

#include <c10/util/Exception.h>

namespace morph_cuda::sanitizer {
namespace {

bool is_anything_checked() {
  static const bool any = Launch::wanted(nullptr) != nullptr;
  return any;
}

}  // namespace

void Algorithm::use(const Use& use) {
  if (found_ || !Bounds::is_devices(use.address)) return;
  if (is_memory_checked()) check_memory(use);
  if (is_init_checked() && use.reads) check_written(use);
  if (is_order_watched()) footprint_.add(use);
}

void Algorithm::check_memory(const Use& use) {
  if (bounds_.has(use.address, use.bytes)) return;
  note("memory", "an illegal memory access was encountered", use, " " + Bounds::problem(use.address));
}

void Algorithm::check_written(const Use& use) {
  if ((use.address + use.bytes + 3) / 4 * 4 > bounds_.end_of(use.address)) return;
  if (!device_functions().is_unwritten(reinterpret_cast<void*>(use.address), use.bytes)) return;
  note("init", "memory is read that nothing was written to (found by MORPH_SANITIZE=init)", use,
       ", " + Bounds::place(use.address));
}

void Algorithm::note(const char* check, const char* error, const Use& use, const std::string& where) {
  std::string text = c10::str("CUDA error: ", error, ": ", name_, ": a ", use.writes ? "write" : "read", " of ", use.bytes,
                              " bytes", where);
  device_functions().note_found(check, text);
  found_ = std::make_exception_ptr(c10::AcceleratorError({__func__, __FILE__, __LINE__}, cudaErrorIllegalAddress, text));
}

void Algorithm::end() const {
  if (found_) std::rethrow_exception(found_);
  Pieces pieces = footprint_.pieces();
  LibraryCall call{name_, reinterpret_cast<intptr_t>(stream_), blocks_};
  if (!pieces.empty()) order_functions().queue(call, pieces.data(), pieces.size());
  if (blocks_) cudaStreamSynchronize(stream_);
}

}  // namespace morph_cuda::sanitizer

namespace morph_cuda {

void* begin_algorithm(const char* name, cudaStream_t stream, bool blocks) {
  using namespace sanitizer;
  if (active || !is_anything_checked()) return nullptr;  // it is of another, or of a kernel
  set_launching();
  auto* begun = new Algorithm(name, stream, blocks);
  active = begun;
  return begun;
}

void use_in_algorithm(const void* start, size_t bytes, bool writes) {
  if (sanitizer::active && bytes)
    sanitizer::active->use({reinterpret_cast<uintptr_t>(start), bytes, writes, false, !writes, 1, __builtin_return_address(0)});
}

void end_algorithm(void* begun, bool is_unwinding) {
  if (!begun) return;
  std::unique_ptr<sanitizer::Algorithm> algorithm(static_cast<sanitizer::Algorithm*>(begun));
  sanitizer::active = nullptr;
  if (!is_unwinding) algorithm->end();
}

}  // namespace morph_cuda
