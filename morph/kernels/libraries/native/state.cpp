// See state.h. The first library that is loaded has the state, and gives it to the others.
#include "state.h"

#include "library.h"

#include <iterator>

namespace state {
namespace {

State* shared = nullptr;

}  // namespace

State& all() { return *shared; }

constexpr char kNotRun[] = "a kernel in this library, which was compiled for a GPU, was not run";

int pending() { return all().unlaunched.exchange(false) ? library::refuse_for(kNotRun) : 0; }

int variable_around(const void* pointer, const void** start, size_t* bytes) {
  std::lock_guard<std::mutex> lock(all().variables);
  auto at = static_cast<const char*>(pointer);
  auto after = all().known.upper_bound(at);
  if (after == all().known.begin()) return -1;
  auto found = std::prev(after);
  if (size_t(at - found->first) >= found->second.bytes) return -1;
  *start = found->first, *bytes = found->second.bytes;
  return found->second.device;
}

}  // namespace state

#define EXPORTED extern "C" __attribute__((visibility("default")))

// Tells of a variable of a module, or with no bytes that it is gone.
EXPORTED void morph_variable(const char* start, size_t bytes, int device) {
  std::lock_guard<std::mutex> lock(state::all().variables);
  if (bytes) state::all().known[start] = {bytes, device};
  else state::all().known.erase(start);
}

// Stands for each launch of a library that is linked with NVIDIA's runtime.
EXPORTED int morph_refuse_launch() {
  state::all().unlaunched = true;
  return library::refuse_for(state::kNotRun);
}

EXPORTED void* morph_state(void* of_another) {
  using state::State;
  if (!state::shared) state::shared = of_another ? static_cast<State*>(of_another) : new State;
  return state::shared;
}
