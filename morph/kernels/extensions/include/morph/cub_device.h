// CUB's algorithms of the device, one after the other on the host. Each is called twice: first for the bytes it needs.
#pragma once

#include <algorithm>
#include <numeric>
#include <type_traits>
#include <vector>

#include "morph/access.h"
#include "morph/cub_block.h"

namespace cub {

template <class T>
struct DoubleBuffer {
  T* d_buffers[2];
  int selector = 0;
  DoubleBuffer() : d_buffers{} {}
  DoubleBuffer(T* current, T* alternate) : d_buffers{current, alternate} {}
  T* Current() { return d_buffers[selector]; }
  T* Alternate() { return d_buffers[selector ^ 1]; }
};

namespace detail {

inline bool asks_for_size(void* storage, size_t& bytes) {
  if (storage) return morph_cuda::refuse_in_capture(nullptr), false;
  bytes = 256;
  return true;
}
template <class I> using ValueOf = std::decay_t<decltype(*std::declval<I>())>;

// The bits of a key from `first` to `last`, in an order that is that of the keys. Both zeros are one.
template <class K>
auto radix(K key, int first, int last) {
  using U = std::conditional_t<sizeof(K) <= 4, uint32_t, uint64_t>;
  using Own = std::conditional_t<sizeof(K) == 1, uint8_t, std::conditional_t<sizeof(K) == 2, uint16_t, U>>;
  Own bits = morph_cuda::bits<Own>(key);
  constexpr Own top = Own(Own(1) << (sizeof(K) * 8 - 1));
  if constexpr (std::is_integral_v<K>) {
    if (std::is_signed_v<K>) bits ^= top;
  } else {
    bits = bits == top ? top : bits & top ? Own(~bits) : Own(bits | top);
  }
  int width = last - first;
  U shifted = U(bits) >> first;
  return width >= int(sizeof(U) * 8) ? shifted : shifted & ((U(1) << width) - 1);
}

template <bool DESCENDING, class K, class V>
void sort(const K* keys, K* sorted_keys, const V* values, V* sorted_values, size_t n, int first, int last) {
  morph_cuda::Unchecked work;  // a thread of a block sorts so too, in memory of the host
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t(0));
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    auto left = radix(keys[a], first, last), right = radix(keys[b], first, last);
    return DESCENDING ? right < left : left < right;
  });
  std::vector<K> k(n);
  for (size_t i = 0; i < n; i++) k[i] = keys[order[i]];
  if (values) {
    std::vector<V> v(n);
    for (size_t i = 0; i < n; i++) v[i] = values[order[i]];
    std::copy(v.begin(), v.end(), sorted_values);
  }
  std::copy(k.begin(), k.end(), sorted_keys);
}

template <bool DESCENDING, class K, class V>
void sort_on_device(morph_cuda::AlgorithmsAccess& access, const K* keys, K* sorted_keys, const V* values, V* sorted_values, size_t n,
                    int first, int last) {
  access.use(keys, n * sizeof(K), false), access.use(sorted_keys, n * sizeof(K), true);
  if (values) access.use(values, n * sizeof(V), false), access.use(sorted_values, n * sizeof(V), true);
  sort<DESCENDING>(keys, sorted_keys, values, sorted_values, n, first, last);
}

}  // namespace detail

struct DeviceScan {
  template <class I, class O, class F, class N>
  static cudaError_t InclusiveScan(void* storage, size_t& bytes, I in, O out, F f, N n, cudaStream_t stream = nullptr, bool = false) {
    morph_cuda::AlgorithmsAccess access("cub::DeviceScan::InclusiveScan", stream);
    if (!detail::asks_for_size(storage, bytes)) std::partial_sum(in, in + n, out, f);
    return cudaSuccess;
  }
  template <class I, class O, class F, class T, class N>
  static cudaError_t ExclusiveScan(void* storage, size_t& bytes, I in, O out, F f, T first, N n, cudaStream_t stream = nullptr, bool = false) {
    morph_cuda::AlgorithmsAccess access("cub::DeviceScan::ExclusiveScan", stream);
    if (detail::asks_for_size(storage, bytes)) return cudaSuccess;
    T running = first;
    for (N i = 0; i < n; i++) {
      auto value = in[i];
      out[i] = running;
      running = f(running, value);
    }
    return cudaSuccess;
  }
  template <class I, class O, class N>
  static cudaError_t InclusiveSum(void* storage, size_t& bytes, I in, O out, N n, cudaStream_t stream = nullptr, bool = false) {
    return InclusiveScan(storage, bytes, in, out, Sum(), n, stream);
  }
  template <class I, class O, class N>
  static cudaError_t ExclusiveSum(void* storage, size_t& bytes, I in, O out, N n, cudaStream_t stream = nullptr, bool = false) {
    return ExclusiveScan(storage, bytes, in, out, Sum(), detail::ValueOf<I>(), n, stream);
  }

  // A scan begins anew where a key differs from the one before it; the result may lie where the keys or the values do.
  template <class K, class I, class O, class F, class N, class E = Equality>
  static cudaError_t InclusiveScanByKey(void* storage, size_t& bytes, K keys, I in, O out, F f, N n, E equal = E(),
                                        cudaStream_t stream = nullptr) {
    morph_cuda::AlgorithmsAccess access("cub::DeviceScan::InclusiveScanByKey", stream);
    if (detail::asks_for_size(storage, bytes) || n <= 0) return cudaSuccess;
    auto last = detail::ValueOf<K>(keys[0]);
    auto running = detail::ValueOf<I>(in[0]);
    out[0] = running;
    for (N i = 1; i < n; i++) {
      auto key = detail::ValueOf<K>(keys[i]);
      auto value = detail::ValueOf<I>(in[i]);
      out[i] = running = equal(last, key) ? f(running, value) : value;
      last = key;
    }
    return cudaSuccess;
  }
  template <class K, class I, class O, class F, class T, class N, class E = Equality>
  static cudaError_t ExclusiveScanByKey(void* storage, size_t& bytes, K keys, I in, O out, F f, T first, N n, E equal = E(),
                                        cudaStream_t stream = nullptr) {
    morph_cuda::AlgorithmsAccess access("cub::DeviceScan::ExclusiveScanByKey", stream);
    if (detail::asks_for_size(storage, bytes) || n <= 0) return cudaSuccess;
    auto last = detail::ValueOf<K>(keys[0]);
    T running = first;
    for (N i = 0; i < n; i++) {
      auto key = detail::ValueOf<K>(keys[i]);
      auto value = detail::ValueOf<I>(in[i]);
      if (!equal(last, key)) running = first;
      out[i] = running;
      running = f(running, value);
      last = key;
    }
    return cudaSuccess;
  }
  template <class K, class I, class O, class N, class E = Equality>
  static cudaError_t InclusiveSumByKey(void* storage, size_t& bytes, K keys, I in, O out, N n, E equal = E(),
                                       cudaStream_t stream = nullptr) {
    return InclusiveScanByKey(storage, bytes, keys, in, out, Sum(), n, equal, stream);
  }
  template <class K, class I, class O, class N, class E = Equality>
  static cudaError_t ExclusiveSumByKey(void* storage, size_t& bytes, K keys, I in, O out, N n, E equal = E(),
                                       cudaStream_t stream = nullptr) {
    return ExclusiveScanByKey(storage, bytes, keys, in, out, Sum(), detail::ValueOf<I>(), n, equal, stream);
  }
};

struct DeviceReduce {
  template <class I, class O, class N, class F, class T>
  static cudaError_t Reduce(void* storage, size_t& bytes, I in, O out, N n, F f, T first, cudaStream_t stream = nullptr, bool = false) {
    morph_cuda::AlgorithmsAccess access("cub::DeviceReduce::Reduce", stream);
    if (detail::asks_for_size(storage, bytes)) return cudaSuccess;
    T result = first;
    for (N i = 0; i < n; i++) result = f(result, T(in[i]));
    *out = result;
    return cudaSuccess;
  }
  template <class I, class O, class N>
  static cudaError_t Sum(void* storage, size_t& bytes, I in, O out, N n, cudaStream_t stream = nullptr, bool = false) {
    return Reduce(storage, bytes, in, out, n, cub::Sum(), detail::ValueOf<I>(), stream);
  }
  template <class I, class O, class N>
  static cudaError_t Max(void* storage, size_t& bytes, I in, O out, N n, cudaStream_t stream = nullptr, bool = false) {
    return Reduce(storage, bytes, in, out, n, cub::Max(), std::numeric_limits<detail::ValueOf<I>>::lowest(), stream);
  }
  template <class I, class O, class N>
  static cudaError_t Min(void* storage, size_t& bytes, I in, O out, N n, cudaStream_t stream = nullptr, bool = false) {
    return Reduce(storage, bytes, in, out, n, cub::Min(), std::numeric_limits<detail::ValueOf<I>>::max(), stream);
  }
};

struct DeviceRadixSort {
  template <class K, class V, class N>
  static cudaError_t SortPairs(void* storage, size_t& bytes, const K* keys, K* sorted_keys, const V* values, V* sorted_values, N n,
                               int first = 0, int last = sizeof(K) * 8, cudaStream_t stream = nullptr, bool = false) {
    morph_cuda::AlgorithmsAccess access("cub::DeviceRadixSort::SortPairs", stream);
    if (detail::asks_for_size(storage, bytes)) return cudaSuccess;
    detail::sort_on_device<false>(access, keys, sorted_keys, values, sorted_values, size_t(n), first, last);
    return cudaSuccess;
  }
  template <class K, class V, class N>
  static cudaError_t SortPairsDescending(void* storage, size_t& bytes, const K* keys, K* sorted_keys, const V* values,
                                         V* sorted_values, N n, int first = 0, int last = sizeof(K) * 8, cudaStream_t stream = nullptr,
                                         bool = false) {
    morph_cuda::AlgorithmsAccess access("cub::DeviceRadixSort::SortPairsDescending", stream);
    if (detail::asks_for_size(storage, bytes)) return cudaSuccess;
    detail::sort_on_device<true>(access, keys, sorted_keys, values, sorted_values, size_t(n), first, last);
    return cudaSuccess;
  }
  template <class K, class V, class N>
  static cudaError_t SortPairs(void* storage, size_t& bytes, DoubleBuffer<K>& keys, DoubleBuffer<V>& values, N n, int first = 0,
                               int last = sizeof(K) * 8, cudaStream_t stream = nullptr, bool = false) {
    bool asks = storage == nullptr;
    cudaError_t error = SortPairs(storage, bytes, keys.Current(), keys.Alternate(), values.Current(), values.Alternate(), n, first, last, stream);
    if (!asks) keys.selector ^= 1, values.selector ^= 1;
    return error;
  }
  template <class K, class N>
  static cudaError_t SortKeys(void* storage, size_t& bytes, const K* keys, K* sorted_keys, N n, int first = 0,
                              int last = sizeof(K) * 8, cudaStream_t stream = nullptr, bool = false) {
    const char* none = nullptr;
    morph_cuda::AlgorithmsAccess access("cub::DeviceRadixSort::SortKeys", stream);
    if (detail::asks_for_size(storage, bytes)) return cudaSuccess;
    detail::sort_on_device<false>(access, keys, sorted_keys, none, const_cast<char*>(none), size_t(n), first, last);
    return cudaSuccess;
  }
};

struct DeviceSelect {
  template <class I, class F, class O, class C, class N>
  static cudaError_t Flagged(void* storage, size_t& bytes, I in, F flags, O out, C count, N n, cudaStream_t stream = nullptr, bool = false) {
    morph_cuda::AlgorithmsAccess access("cub::DeviceSelect::Flagged", stream);
    if (detail::asks_for_size(storage, bytes)) return cudaSuccess;
    N kept = 0;
    for (N i = 0; i < n; i++)
      if (flags[i]) out[kept++] = in[i];
    *count = kept;
    return cudaSuccess;
  }
  template <class I, class O, class C, class N, class P>
  static cudaError_t If(void* storage, size_t& bytes, I in, O out, C count, N n, P select, cudaStream_t stream = nullptr, bool = false) {
    morph_cuda::AlgorithmsAccess access("cub::DeviceSelect::If", stream);
    if (detail::asks_for_size(storage, bytes)) return cudaSuccess;
    N kept = 0;
    for (N i = 0; i < n; i++)
      if (select(in[i])) out[kept++] = in[i];
    *count = kept;
    return cudaSuccess;
  }
};

}  // namespace cub
