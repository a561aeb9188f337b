// See machine.h.
#include "machine.h"

#include <cstring>

namespace machine {

#define DEFINE(result, name, parameters) result(*name) parameters = nullptr;
MACHINE(DEFINE)
#undef DEFINE

}  // namespace machine

extern "C" __attribute__((visibility("default"))) int morph_machine(const char* name, void* function) {
#define BIND(result, member, parameters) \
  if (!std::strcmp(name, #member)) return machine::member = reinterpret_cast<result(*) parameters>(function), 1;
  MACHINE(BIND)
#undef BIND
  return 0;
}
