// See state.h. The first library that is loaded has the state, and gives it to the others.
#include "state.h"

namespace state {
namespace {

State* shared = nullptr;

}  // namespace

State& all() { return *shared; }

}  // namespace state

extern "C" __attribute__((visibility("default"))) void* morph_state(void* of_another) {
  using state::State;
  if (!state::shared) state::shared = of_another ? static_cast<State*>(of_another) : new State;
  return state::shared;
}
