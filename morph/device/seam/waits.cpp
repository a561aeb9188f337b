// Counts how often the host waits for a number of the target's: Tensor.item(), float() of one, a condition.
#include "kernel.h"
#include "seam.h"

#include <Python.h>

#include <atomic>

namespace seam {
namespace {

Over& reading = *new Over;  // never destroyed: at exit other threads may still dispatch
std::atomic<uint64_t> begun{0};
std::atomic<unsigned long> waiting{0};  // the thread that waits now, as Python numbers it, or 0

struct Waiting {
  Waiting() {
    ++begun;
    waiting = PyThread_get_thread_ident();
  }
  ~Waiting() { waiting = 0; }
};

void read_number(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  Waiting now;
  reading.call_targets(op, keys, stack);
}

}  // namespace

void count_waits() { reading.put<&read_number>("aten::_local_scalar_dense"); }
std::pair<uint64_t, unsigned long> waits() { return {begun, waiting}; }
void disengage_waits() { reading.remove(); }

}  // namespace seam
