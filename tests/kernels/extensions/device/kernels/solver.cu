// cuSOLVER as a program calls it. By this library's name the tests find every other function of it too.
#include <cusolverDn.h>
#include <cusolverRf.h>
#include <cusolverSp_LOWLEVEL_PREVIEW.h>

static_assert(CUSOLVER_VERSION == CUSOLVER_VER_MAJOR * 1000 + CUSOLVER_VER_MINOR * 100 + CUSOLVER_VER_PATCH);

extern "C" {

cusolverDnHandle_t handle() {
  static cusolverDnHandle_t made = [] {
    cusolverDnHandle_t fresh;
    cusolverDnCreate(&fresh);
    cusolverDnSetStream(fresh, nullptr);
    return fresh;
  }();
  return made;
}
// A x = b by LU, in memory that it asks for. Returns the first status that is not zero, or what `info` says.
int solve(int n, double* a, double* b) {
  int words, info, *pivots, *told;
  double* work;
  int status = cusolverDnDgetrf_bufferSize(handle(), n, n, a, n, &words);
  if (status || cudaMalloc(&work, words * sizeof(double)) || cudaMalloc(&pivots, n * sizeof(int)) || cudaMalloc(&told, sizeof(int)))
    return -1;
  status = cusolverDnDgetrf(handle(), n, n, a, n, work, pivots, told);
  if (!status) status = cusolverDnDgetrs(handle(), CUBLAS_OP_N, n, 1, a, n, pivots, b, n, told);
  cudaMemcpy(&info, told, sizeof(int), cudaMemcpyDeviceToHost);
  cudaFree(work), cudaFree(pivots), cudaFree(told);
  return status ? status : info;
}
}
