// Products by CUTLASS's templates for SIMT and for Ampere's tensor cores, against sums in double.
#include <cmath>
#include <cstdio>

#include "cutlass/gemm/device/gemm.h"
#include "cutlass/util/host_tensor.h"

template <class Gemm, class T, class LayoutB>
double error(int m, int n, int k) {
  cutlass::HostTensor<T, cutlass::layout::RowMajor> a({m, k});
  cutlass::HostTensor<T, LayoutB> b({k, n});
  cutlass::HostTensor<float, cutlass::layout::RowMajor> c({m, n});
  auto number = [](int i, int j) { return float((i * 37 + j * 11) % 17 - 8) / 8; };
  for (int i = 0; i < m; i++)
    for (int j = 0; j < k; j++) a.at({i, j}) = T(number(i, j));
  for (int i = 0; i < k; i++)
    for (int j = 0; j < n; j++) b.at({i, j}) = T(number(j, i));
  a.sync_device(), b.sync_device(), c.sync_device();
  Gemm gemm;
  auto status = gemm({{m, n, k}, a.device_ref(), b.device_ref(), c.device_ref(), c.device_ref(), {1.f, 0.f}});
  if (status != cutlass::Status::kSuccess) return 1e9;
  c.sync_host();
  double most = 0;
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      double sum = 0;
      for (int l = 0; l < k; l++) sum += double(number(i, l)) * double(number(j, l));
      most = std::fmax(most, std::fabs(sum - c.at({i, j})));
    }
  return most;
}

int main() {
  using Row = cutlass::layout::RowMajor;
  using Column = cutlass::layout::ColumnMajor;
  using Simt = cutlass::gemm::device::Gemm<float, Row, float, Column, float, Row>;
  using Halves = cutlass::gemm::device::Gemm<cutlass::half_t, Row, cutlass::half_t, Column, float, Row, float,
                                             cutlass::arch::OpClassTensorOp, cutlass::arch::Sm80>;
  std::printf("%g %g\n", error<Simt, float, Column>(70, 50, 33), error<Halves, cutlass::half_t, Column>(128, 64, 96));
}
