// What is told of each access to memory of sources that are compiled for checks.
#pragma once

#include <cstddef>
#include <cstdint>

namespace morph_cuda::sanitizer {

bool is_memory_checked();  // MORPH_SANITIZE=memory
bool is_init_checked();    // MORPH_SANITIZE=init
bool is_memory_hidden();   // MORPH_SANITIZE=host

struct Use {
  uintptr_t address;
  size_t bytes;
  bool writes, is_atomic, reads;
  size_t alignment;
  const void* site;
};

class Watcher {
 public:
  virtual void use(const Use& use) = 0;
  virtual void synchronize(const Use&) {}  // an atomic operation, after its use
  virtual void fence() {}

 protected:
  ~Watcher() = default;
};

extern thread_local Watcher* active;  // of this thread of the host; null: it runs nothing of the device's
void note_use(const void* start, size_t bytes, bool writes, const void* site);  // by the runtime, for a kernel

}  // namespace morph_cuda::sanitizer
