// See faults.h.
#include "device/faults.h"

#include "device/assertions.h"

namespace software {
namespace {

Decision& decision() {
  static auto* only = new Decision;
  return *only;
}

}  // namespace

bool does_happen(Fault fault, c10::DeviceIndex index, const char* name) { return decision()(fault, index, name); }

void expect_faults(unsigned possible, Decision decide) {
  decision() = std::move(decide);
  possible_faults = possible;
  if (may_happen(Fault::kUse)) context_in_doubt = true;
}

}  // namespace software
