#pragma once

#ifdef __cplusplus
extern "C" double root(double x);
int threads(int wanted);
const char* caught();
#ifdef __CUDACC__
__device__ int twice(int x);
#endif
#endif
