// See libraries.h.
#include "libraries.h"

#include <dlfcn.h>

#include <cstdio>
#include <mutex>
#include <set>

namespace morph_cuda::sanitizer {
namespace {

struct Known {
  std::mutex lock;
  std::set<const void*> libraries;  // by where they begin; those that were warned of too
};

Known& known() {  // a library may be loaded before this one's variables are initialized
  static auto* all = new Known;
  return *all;
}

bool add(const void* place, Dl_info& found) {
  if (!dladdr(place, &found)) return false;
  std::lock_guard<std::mutex> lock(known().lock);
  return known().libraries.insert(found.dli_fbase).second;
}

}  // namespace

void add_library(const void* place) {
  Dl_info found;
  add(place, found);
}

void warn_if_unchecked(uintptr_t kernel) {
  Dl_info found;
  if (add(reinterpret_cast<const void*>(kernel), found))
    std::fprintf(stderr, "morph: the kernels of %s are not checked: it was built without MORPH_SANITIZE\n",
                 found.dli_fname);
}

}  // namespace morph_cuda::sanitizer
