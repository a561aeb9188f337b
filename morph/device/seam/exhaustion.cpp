// The vendor's error for exhausted memory that is no torch.OutOfMemoryError becomes one, in CUDA's words, where the
// host waits for the device's values: TorchTPU's is a RuntimeError, which comes when a value is computed, not allocated.
#include "kernel.h"
#include "seam.h"

#include <string>

namespace seam {
namespace {

Over& exhausting = *new Over;  // never destroyed: at exit other threads may still dispatch
std::string& vendors_words = *new std::string;

void call_in_cudas_words(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  try {
    exhausting.call_targets(op, keys, stack);
  } catch (const c10::OutOfMemoryError&) {
    throw;
  } catch (const c10::Error& error) {
    const std::string& text = error.msg();
    if (text.find(vendors_words) == std::string::npos) throw;
    C10_THROW_ERROR(OutOfMemoryError, "CUDA out of memory. " + text);
  }
}

}  // namespace

void tell_exhaustion(const std::string& words) {
  vendors_words = words;
  for (const char* name : {"aten::_local_scalar_dense", "aten::_to_copy", "aten::copy_", "aten::nonzero"})
    exhausting.put<&call_in_cudas_words>(name);
}

void disengage_exhaustion() { exhausting.remove(); }

}  // namespace seam
