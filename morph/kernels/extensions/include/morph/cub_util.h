// What the rest of CUB is made of: its macros, its types, and what a thread knows of its warp.
#pragma once

#include <type_traits>

#include "morph/cuda.h"

#define CUB_VERSION 200800
#define CUB_NS_QUALIFIER ::cub
#define CUB_NAMESPACE_BEGIN namespace cub {
#define CUB_NAMESPACE_END }
#define CUB_RUNTIME_FUNCTION __host__ __device__
#define CUB_LOG_WARP_THREADS(ARCH) 5
#define CUB_WARP_THREADS(ARCH) 32
#define CUB_SMEM_BANKS(ARCH) 32
#define CUB_PTX_LOG_WARP_THREADS 5
#define CUB_PTX_WARP_THREADS 32
#define CUB_PTX_SMEM_BANKS 32
// An error, which a program handles by itself, or ends at.
#define CubDebug(error) (error)
#define CubDebugExit(error)                                                        \
  if (const cudaError_t morph_error = (error)) {                                   \
    std::fprintf(stderr, "CUDA error: %s\n", cudaGetErrorString(morph_error));     \
    std::exit(1);                                                                  \
  }
#define CUB_MIN(A, B) ((B) < (A) ? (B) : (A))
#define CUB_MAX(A, B) ((A) < (B) ? (B) : (A))
#define CUB_QUOTIENT_FLOOR(A, B) ((A) / (B))
#define CUB_QUOTIENT_CEILING(A, B) (((A) + (B) - 1) / (B))
#define CUB_ROUND_UP_NEAREST(A, B) (CUB_QUOTIENT_CEILING(A, B) * (B))
#define CUB_ROUND_DOWN_NEAREST(A, B) ((A) / (B) * (B))

namespace cub {

struct NullType {};
template <int N> struct Int2Type { enum { VALUE = N }; };
template <class K, class V> struct KeyValuePair { using Key = K; using Value = V; K key; V value; };
template <int N> struct Log2 { enum { VALUE = N <= 1 ? 0 : 32 - __builtin_clz(unsigned(N) - 1 | (N <= 1)) }; };
template <int N> struct PowerOfTwo { enum { VALUE = (N & (N - 1)) == 0 }; };

// Memory for an object of a type whose constructor is not to run, as shared memory and unions need it.
template <class T>
struct Uninitialized {
  alignas(T) unsigned char storage[sizeof(T)];
  T& Alias() { return reinterpret_cast<T&>(*this); }
};

inline int RowMajorTid(int x, int y, int) {
  const auto& t = morph_cuda::here().thread;
  return int(t.x) + x * (int(t.y) + y * int(t.z));
}
inline unsigned LaneId() { return unsigned(morph_cuda::lane()); }
inline unsigned WarpId() { return unsigned(morph_cuda::thread_rank()) / 32; }
inline unsigned LaneMaskLt() { return (1u << LaneId()) - 1; }
inline unsigned LaneMaskLe() { return LaneMaskLt() << 1 | 1; }
inline unsigned LaneMaskGt() { return ~LaneMaskLe(); }
inline unsigned LaneMaskGe() { return ~LaneMaskLt(); }
inline void CTA_SYNC() { __syncthreads(); }
inline void WARP_SYNC(unsigned mask) { __syncwarp(mask); }

// The lanes of the part of a warp with this number; where a part is no power of two, those of the first.
template <int LANES>
inline unsigned WarpMask(unsigned part) {
  unsigned first = 0xffffffffu >> (32 - LANES);
  return LANES < 32 && PowerOfTwo<LANES>::VALUE ? first << part * LANES : first;
}

namespace detail {
// A value of any size from another lane, or one's own.
template <class T>
inline T shuffled(unsigned mask, const T& own, int source, bool inside) {
  if constexpr (sizeof(T) <= 16) {
    return morph_cuda::shuffled(mask, own, source, inside);
  } else {
    struct Piece { unsigned char bytes[16]; };
    Piece pieces[(sizeof(T) + 15) / 16];
    __builtin_memcpy(pieces, &own, sizeof(T));
    for (Piece& each : pieces) each = morph_cuda::shuffled(mask, each, source, inside);
    T result = own;
    __builtin_memcpy(static_cast<void*>(&result), pieces, sizeof(T));
    return result;
  }
}
template <int LANES>
inline int first_lane() { return morph_cuda::lane() & ~(LANES - 1); }
}  // namespace detail

// `first` and `last` are the lanes of a part of the warp that values may come from.
template <int LANES, class T>
inline T ShuffleUp(const T& own, int by, int first, unsigned mask) {
  int source = morph_cuda::lane() - by;
  return detail::shuffled(mask, own, source, source >= detail::first_lane<LANES>() + first);
}
template <int LANES, class T>
inline T ShuffleDown(const T& own, int by, int last, unsigned mask) {
  int source = morph_cuda::lane() + by;
  return detail::shuffled(mask, own, source, source <= detail::first_lane<LANES>() + last);
}
template <int LANES, class T>
inline T ShuffleIndex(const T& own, int source, unsigned mask) {
  return detail::shuffled(mask, own, detail::first_lane<LANES>() + (source & (LANES - 1)), true);
}

}  // namespace cub
