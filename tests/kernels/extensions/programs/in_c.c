/* A program in C, which g++ would not take as it stands, and that calls functions of C in another file. */
#include <cusparse.h>
#include <stdio.h>
#include <stdlib.h>

double root(double x);

static int same(const float *restrict x, const float *restrict y) { return x[0] == y[0]; }

int main(void) {
  float *host = malloc(2 * sizeof(float)), *device;
  cusparseHandle_t handle;
  cudaMalloc((void **)&device, 2 * sizeof(float));
  cudaMemset(device, 0, 2 * sizeof(float));
  cudaMemcpy(host, device, 2 * sizeof(float), cudaMemcpyDeviceToHost);
  printf("%d %d %d\n", cusparseCreate(&handle), same(host, host + 1), (int)root(16));
  return cusparseDestroy(handle);
}
