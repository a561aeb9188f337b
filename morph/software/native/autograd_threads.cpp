// The engine's threads of automatic differentiation, one for each device index, at the end of a process.
#include "device.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/engine.h>

namespace software {
namespace {

using torch::autograd::Engine;

struct OpenEngine : Engine {
  using Engine::device_ready_queues_;
};

c10::DeviceIndex threads() {
  auto& queues = Engine::get_default_engine().*&OpenEngine::device_ready_queues_;
  return std::min(settings().count, c10::DeviceIndex(queues.size()));
}

// Made in C++ and without elements: it takes neither the interpreter nor memory.
void go_through(c10::DeviceIndex index) {
  auto root = at::empty({0}, at::TensorOptions().device(device(index))).requires_grad_(true);
  auto result = root.neg();
  torch::autograd::grad({result}, {root}, {result.detach()});
}

}  // namespace

// A thread lets go of the last pass's graph after it has woken who waits for the pass. Python objects that die with the
// graph need the interpreter, which aborts a process where it ends already (before CPython 3.14). When a thread works
// on another pass, it has let go of the one before.
void settle_autograd_threads() {
  c10::InferenceMode recording(false);
  at::AutoGradMode grad(true);
  for (c10::DeviceIndex index = 0; index < threads(); index++) go_through(index);
}

}  // namespace software
