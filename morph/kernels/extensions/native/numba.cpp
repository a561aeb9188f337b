// What kernels of numba's call, which are compiled from its LLVM IR: their launch, and what is an intrinsic of NVVM there.
#include "morph/atomics.h"
#include "morph/launch.h"

#include "block.h"
#include "grid.h"

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

using namespace morph_cuda;

namespace {

struct Compiled {  // morph.kernels.numba.entry writes it
  void (*body)(void** arguments);
  const char* name;
  int64_t most, count;  // most: threads of a block, by its launch bounds, or 0
  const size_t* sizes;
};

class Prepared {
 public:
  Prepared(const Compiled* kernel, void** arguments) : kernel_(kernel) {
    for (int64_t i = 0; i < kernel->count; i++) {
      const auto* bytes = static_cast<const unsigned char*>(arguments[i]);
      values_.emplace_back(bytes, bytes + kernel->sizes[i]);
    }
  }

  static const Launched launched;

 private:
  std::vector<void*> addresses() {
    std::vector<void*> found(1);  // never null
    found.clear();
    for (auto& each : values_) found.push_back(each.data());
    return found;
  }
  void run(Turns& turns) {
    std::vector<void*> arguments = addresses();
    turns.run([&] {
      if (kernel_->most) bound_threads(kernel_->most, kernel_->name);
      kernel_->body(arguments.data());
    });
  }

  const Compiled* kernel_;
  std::vector<std::vector<unsigned char>> values_;
};

const Launched Prepared::launched{
    [](void* closure, Turns& turns) { static_cast<Prepared*>(closure)->run(turns); },
    nullptr,  // as regions
    [](const void* closure) -> void* { return new Prepared(*static_cast<const Prepared*>(closure)); },
    [](void* closure) { delete static_cast<Prepared*>(closure); },
    [](void* closure, void** addresses) {
      for (void* each : static_cast<Prepared*>(closure)->addresses()) *addresses++ = each;
    },
    0};

Block& block() { return Block::of_this_thread(); }

class Warp {  // Exchange, for callers that are one function for all places of a kernel
 public:
  Warp(unsigned mask, const void* mine, size_t bytes, const void* site) : deposits_(block().exchange(mask, mine, bytes, site)) {}
  ~Warp() { has_read(deposits_); }
  Warp(const Warp&) = delete;
  Warp& operator=(const Warp&) = delete;

  unsigned arrived() const { return deposits_->arrived; }
  template <class T>
  T read(int lane) const {
    T value{};
    if (deposits_->arrived >> lane & 1) std::memcpy(&value, deposits_->value[lane], sizeof(T));
    return value;
  }
  template <class T>
  unsigned equal(const T& value) const {
    unsigned lanes = 0;
    for (int i = 0; i < 32; i++)
      if (deposits_->arrived >> i & 1 && read<T>(i) == value) lanes |= 1u << i;
    return lanes;
  }

 private:
  Deposits* deposits_;
};

Votes voted(int value, const void* site) {
  block().wait_for_block(value != 0, site);
  return block().votes();
}

// A value and a predicate, which LLVM returns otherwise than C does.
uint64_t both(unsigned value, bool predicate) { return value | uint64_t(predicate) << 32; }

template <class T>
void looks(const T* p, bool has_changed) {
  if (!has_changed) looked(p);
}

// The next argument of vprintf's block, in which each is aligned to its own size.
template <class T>
T next(const unsigned char*& at) {
  at = reinterpret_cast<const unsigned char*>((reinterpret_cast<uintptr_t>(at) + sizeof(T) - 1) / sizeof(T) * sizeof(T));
  T value;
  std::memcpy(&value, at, sizeof(T));
  at += sizeof(T);
  return value;
}

template <class... A>
std::string formatted(const std::string& format, A... values) {
  std::string text(size_t(std::snprintf(nullptr, 0, format.c_str(), values...)) + 1, '\0');
  std::snprintf(text.data(), text.size(), format.c_str(), values...);
  text.pop_back();
  return text;
}

std::string formatted_next(const std::string& format, const unsigned char*& at) {
  switch (format.back()) {
    case '%': return "%";
    case 's': return formatted(format, next<const char*>(at));
    case 'p': return formatted(format, next<const void*>(at));
    case 'e': case 'E': case 'f': case 'F': case 'g': case 'G': case 'a': case 'A': return formatted(format, next<double>(at));
    default: return format.find('l') == std::string::npos ? formatted(format, next<int>(at)) : formatted(format, next<long long>(at));
  }
}

}  // namespace

#define SITE __builtin_return_address(0)
#define DEVICE extern "C" __attribute__((visibility("default"), noinline))

DEVICE cudaError_t morph_numba_launch(void* kernel, dim3 grid, dim3 threads, void** arguments, size_t shared, cudaStream_t stream) {
  Prepared prepared(static_cast<const Compiled*>(kernel), arguments);
  run(grid, threads, shared, stream, Prepared::launched, &prepared, kernel);
  return cudaSuccess;
}

#define PLACES(NAME, MEMBER)                                             \
  DEVICE unsigned morph_nvvm_##NAME##_x() { return here().MEMBER.x; } \
  DEVICE unsigned morph_nvvm_##NAME##_y() { return here().MEMBER.y; } \
  DEVICE unsigned morph_nvvm_##NAME##_z() { return here().MEMBER.z; }
PLACES(tid, thread)
PLACES(ctaid, block)
PLACES(ntid, block_size)
PLACES(nctaid, grid_size)
DEVICE unsigned morph_nvvm_laneid() { return unsigned(lane()); }
DEVICE unsigned morph_nvvm_lanemask_lt() { return (1u << lane()) - 1; }
DEVICE unsigned morph_nvvm_activemask() { return lanes_here(SITE); }
DEVICE void* morph_nvvm_dynamic_shared() { return dynamic_shared(); }
DEVICE unsigned morph_nvvm_dynamic_shared_size() { return unsigned(block().dynamic_size()); }

DEVICE void morph_nvvm_barrier0() { block().wait_for_block(0, SITE); }
DEVICE int morph_nvvm_barrier0_popc(int p) { return voted(p, SITE).count; }
DEVICE int morph_nvvm_barrier0_or(int p) { return voted(p, SITE).count != 0; }
DEVICE int morph_nvvm_barrier0_and(int p) {
  Votes votes = voted(p, SITE);
  return votes.count == votes.voters;
}
DEVICE void morph_nvvm_bar_warp_sync(unsigned mask) { Warp(mask, nullptr, 0, SITE); }
DEVICE void morph_nvvm_membar() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
DEVICE void morph_nvvm_nanosleep(unsigned) { looked(nullptr); }

// PTX ISA, shfl.sync: 0 takes the value of a lane, 1 of one before, 2 of one after, 3 of the lane with other bits.
DEVICE uint64_t morph_nvvm_shfl(unsigned mask, int mode, unsigned value, int b, int c) {
  int own = lane(), segment = c >> 8 & 31, first = own & segment, last = first | (c & 31 & ~segment);
  b &= 31;
  int sources[] = {first | (b & ~segment), own - b, own + b, own ^ b}, source = sources[mode & 3];
  bool is_inside = mode == 1 ? source >= last : source <= last;
  Warp all(mask, &value, sizeof value, SITE);
  return both(is_inside ? all.read<unsigned>(source) : value, is_inside);
}
// Likewise vote.sync: 0 whether all say so, 1 any, 2 all the same, 3 which.
DEVICE uint64_t morph_nvvm_vote(unsigned mask, int mode, bool value) {
  int said = value;
  Warp all(mask, &said, sizeof said, SITE);
  unsigned lanes = all.equal(1), voters = all.arrived();
  bool results[] = {lanes == voters, lanes != 0, lanes == voters || !lanes, value};
  return both(mode == 3 ? lanes : 0, results[mode & 3]);
}
#define MATCHES(BITS)                                                                           \
  DEVICE unsigned morph_nvvm_match_any_sync_i##BITS(unsigned mask, uint##BITS##_t value) {      \
    return Warp(mask, &value, sizeof value, SITE).equal(value);                                 \
  }                                                                                             \
  DEVICE uint64_t morph_nvvm_match_all_i##BITS(unsigned mask, uint##BITS##_t value) {           \
    Warp all(mask, &value, sizeof value, SITE);                                                 \
    bool same = all.equal(value) == all.arrived();                                              \
    return both(same ? all.arrived() : 0, same);                                                \
  }
MATCHES(32)
MATCHES(64)

DEVICE float morph_nvvm_atomic_load_add_f32_p0f32(float* p, float v) { return atomicAdd(p, v); }
DEVICE double morph_nvvm_atomic_load_add_f64_p0f64(double* p, double v) { return atomicAdd(p, v); }
DEVICE unsigned morph_nvvm_atomic_load_inc_32_p0i32(unsigned* p, unsigned v) { return atomicInc(p, v); }
DEVICE unsigned morph_nvvm_atomic_load_dec_32_p0i32(unsigned* p, unsigned v) { return atomicDec(p, v); }
DEVICE void morph_nvvm_looked(const void* p, bool has_changed) { looks(p, has_changed); }

DEVICE int64_t cudaCGGetIntrinsicHandle(int) { return 1; }
DEVICE int cudaCGSynchronize(int64_t, int) { return wait_for_grid(), 0; }

DEVICE int vprintf_of_numba(const char* format, const unsigned char* values) asm("morph_nvvm_vprintf");
DEVICE int vprintf_of_numba(const char* format, const unsigned char* values) {
  std::string text;
  for (const char* at = format; *at;) {
    size_t plain = std::strcspn(at, "%");
    text.append(at, plain);
    at += plain;
    if (!*at) break;
    size_t length = 1 + std::strspn(at + 1, "0123456789.+-# hlzjt");
    if (!at[length]) break;
    text += formatted_next(std::string(at, length + 1), values);
    at += length + 1;
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
  return int(text.size());
}
