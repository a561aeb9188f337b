// cub::DeviceRunLengthEncode: the runs of equal values.
#pragma once

#include "morph/cub_device.h"

namespace cub {

struct DeviceRunLengthEncode {
  template <class I, class U, class C, class R, class N>
  static cudaError_t Encode(void* storage, size_t& bytes, I in, U unique, C counts, R runs, N n,
                            cudaStream_t stream = nullptr, bool = false) {
    morph_cuda::AlgorithmsAccess access("cub::DeviceRunLengthEncode::Encode", stream);
    if (detail::asks_for_size(storage, bytes)) return cudaSuccess;
    N found = 0;
    each_run(in, n, [&](N start, N length) { unique[found] = in[start], counts[found] = length, found++; });
    *runs = found;
    return cudaSuccess;
  }
  // Of runs of more than one value: where they begin, and how long they are.
  template <class I, class O, class L, class R, class N>
  static cudaError_t NonTrivialRuns(void* storage, size_t& bytes, I in, O starts, L lengths, R runs, N n,
                                    cudaStream_t stream = nullptr, bool = false) {
    morph_cuda::AlgorithmsAccess access("cub::DeviceRunLengthEncode::NonTrivialRuns", stream);
    if (detail::asks_for_size(storage, bytes)) return cudaSuccess;
    N found = 0;
    each_run(in, n, [&](N start, N length) {
      if (length > 1) starts[found] = start, lengths[found] = length, found++;
    });
    *runs = found;
    return cudaSuccess;
  }

 private:
  template <class I, class N, class F>
  static void each_run(I in, N n, F call) {
    for (N start = 0, end; start < n; start = end) {
      for (end = start + 1; end < n && in[end] == in[start];) end++;
      call(start, end - start);
    }
  }
};

}  // namespace cub
