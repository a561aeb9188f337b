// See library.h. What Python binds the slots with is exported under names that begin with morph_.
#include "library.h"

#include <cstring>

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace library {
namespace {

thread_local const char* refused = nullptr;
thread_local int last = 0;

const Name* find(const char* name) {
  for (size_t i = 0; i < count; i++)
    if (!std::strcmp(names[i].name, name)) return &names[i];
  return nullptr;
}

}  // namespace

__attribute__((weak)) const Functions& own() {
  static const Functions none;
  return none;
}

int refuse(size_t index) { return refuse_for(names[index].refusal); }

int refuse_for(const char* reason) {
  refused = reason;
  return noted(not_supported);
}

int noted(int code) {
  if (code) last = code;
  return code;
}

int last_error(bool forget) {
  int code = last;
  if (forget) last = 0;
  return code;
}

}  // namespace library

EXPORTED int morph_bind(const char* name, void* function) {
  const library::Name* found = library::find(name);
  if (found) *found->slot = function;
  return found != nullptr;
}

EXPORTED void* morph_own(const char* name) {
  auto found = library::own().find(name);
  return found == library::own().end() ? nullptr : found->second;
}

EXPORTED int morph_nothing() { return 0; }
EXPORTED int morph_noted(int code) { return library::noted(code); }
EXPORTED const char* morph_refused() { return library::refused; }
EXPORTED void morph_forget() { library::refused = nullptr; }
