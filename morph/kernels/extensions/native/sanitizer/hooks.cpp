// What g++ calls before each access to memory (`-fsanitize=thread`), in the place of its own library. The names and
// arguments are those of LLVM's tsan_interface.h and tsan_interface_atomic.h.
#include "libraries.h"
#include "watcher.h"

#include <cstring>
#include <utility>

namespace {

using morph_cuda::sanitizer::active;
using morph_cuda::sanitizer::Use;

enum class Kind { kRead, kWrite, kBoth };  // kBoth: an atomic operation that reads what it replaces

// What the watcher does is not watched: it may call functions of the program's, as those of std::string. Where it ends
// the block, it does not return.
template <class F>
void tell(F what) {
  auto* watcher = std::exchange(active, nullptr);
  what(*watcher);
  active = watcher;
}

inline void use(const volatile void* pointer, size_t bytes, Kind kind, bool is_atomic, const void* site,
                size_t alignment = 1) {
  if (!active) return;
  bool writes = kind != Kind::kRead, reads = kind != Kind::kWrite;
  Use made{reinterpret_cast<uintptr_t>(pointer), bytes, writes, is_atomic, reads, alignment, site};
  tell([&](auto& watcher) {
    watcher.use(made);
    if (is_atomic) watcher.synchronize(made);
  });
}

inline void fence_for(int order) {
  if (active && order >= __ATOMIC_RELEASE) tell([](auto& watcher) { watcher.fence(); });
}

}  // namespace

void morph_cuda::sanitizer::note_use(const void* start, size_t bytes, bool writes, const void* site) {
  use(start, bytes, writes ? Kind::kWrite : Kind::kRead, false, site);
}

#define SITE __builtin_return_address(0)
// g++ takes 16 bytes at a multiple of 8 for aligned.
#define ALIGNMENT(BYTES) (BYTES < 8 ? BYTES : 8)
#define ACCESS(NAME, BYTES, KIND, IS_ATOMIC, ALIGNED) \
  void __tsan_##NAME(void* pointer) { use(pointer, BYTES, KIND, IS_ATOMIC, SITE, ALIGNED); }
#define ACCESSES(BYTES)                                                      \
  ACCESS(read##BYTES, BYTES, Kind::kRead, false, ALIGNMENT(BYTES))           \
  ACCESS(write##BYTES, BYTES, Kind::kWrite, false, ALIGNMENT(BYTES))         \
  ACCESS(unaligned_read##BYTES, BYTES, Kind::kRead, false, 1)                \
  ACCESS(unaligned_write##BYTES, BYTES, Kind::kWrite, false, 1)              \
  ACCESS(volatile_read##BYTES, BYTES, Kind::kRead, true, ALIGNMENT(BYTES))   \
  ACCESS(volatile_write##BYTES, BYTES, Kind::kWrite, true, ALIGNMENT(BYTES)) \
  ACCESS(unaligned_volatile_read##BYTES, BYTES, Kind::kRead, true, 1)        \
  ACCESS(unaligned_volatile_write##BYTES, BYTES, Kind::kWrite, true, 1)

#define ATOMIC_FETCH(BITS, T, NAME)                                          \
  T __tsan_atomic##BITS##_fetch_##NAME(volatile T* p, T value, int order) {  \
    fence_for(order), use(p, sizeof(T), Kind::kBoth, true, SITE, sizeof(T)); \
    return __atomic_fetch_##NAME(p, value, __ATOMIC_SEQ_CST);                \
  }
#define ATOMIC_COMPARE(BITS, T, NAME)                                                                      \
  int __tsan_atomic##BITS##_compare_exchange_##NAME(volatile T* p, T* expected, T value, int order, int) { \
    fence_for(order), use(p, sizeof(T), Kind::kBoth, true, SITE, sizeof(T));                               \
    return __atomic_compare_exchange_n(p, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);     \
  }
#define ATOMIC(BITS, T)                                                       \
  T __tsan_atomic##BITS##_load(const volatile T* p, int) {                    \
    use(p, sizeof(T), Kind::kRead, true, SITE, sizeof(T));                    \
    return __atomic_load_n(p, __ATOMIC_SEQ_CST);                              \
  }                                                                           \
  void __tsan_atomic##BITS##_store(volatile T* p, T value, int order) {       \
    fence_for(order), use(p, sizeof(T), Kind::kWrite, true, SITE, sizeof(T)); \
    __atomic_store_n(p, value, __ATOMIC_SEQ_CST);                             \
  }                                                                           \
  T __tsan_atomic##BITS##_exchange(volatile T* p, T value, int order) {       \
    fence_for(order), use(p, sizeof(T), Kind::kWrite, true, SITE, sizeof(T)); \
    return __atomic_exchange_n(p, value, __ATOMIC_SEQ_CST);                   \
  }                                                                           \
  ATOMIC_FETCH(BITS, T, add)                                                  \
  ATOMIC_FETCH(BITS, T, sub)                                                  \
  ATOMIC_FETCH(BITS, T, and)                                                  \
  ATOMIC_FETCH(BITS, T, or)                                                   \
  ATOMIC_FETCH(BITS, T, xor)                                                  \
  ATOMIC_FETCH(BITS, T, nand)                                                 \
  ATOMIC_COMPARE(BITS, T, strong)                                             \
  ATOMIC_COMPARE(BITS, T, weak)

extern "C" {

void __tsan_init() { morph_cuda::sanitizer::add_library(SITE); }  // as a library is loaded
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void** place, void*) { use(place, sizeof(void*), Kind::kWrite, false, SITE); }
void __tsan_vptr_read(void** place) { use(place, sizeof(void*), Kind::kRead, false, SITE); }
void __tsan_read_range(void* pointer, size_t bytes) { use(pointer, bytes, Kind::kRead, false, SITE); }
void __tsan_write_range(void* pointer, size_t bytes) { use(pointer, bytes, Kind::kWrite, false, SITE); }

ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)

ATOMIC(8, uint8_t)
ATOMIC(16, uint16_t)
ATOMIC(32, uint32_t)
ATOMIC(64, uint64_t)

void __tsan_atomic_thread_fence(int order) {
  fence_for(order);
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
// What nvcc.py has sources call in their place.
#define COPY(NAME)                                                       \
  void* morph_watched_##NAME(void* to, const void* from, size_t bytes) { \
    if (bytes) use(from, bytes, Kind::kRead, false, SITE);               \
    if (bytes) use(to, bytes, Kind::kWrite, false, SITE);                \
    return std::NAME(to, from, bytes);                                   \
  }
COPY(memcpy)
COPY(memmove)
void* morph_watched_memset(void* to, int value, size_t bytes) {
  if (bytes) use(to, bytes, Kind::kWrite, false, SITE);
  return std::memset(to, value, bytes);
}
void __tsan_atomic_signal_fence(int) { __atomic_signal_fence(__ATOMIC_SEQ_CST); }

}  // extern "C"
