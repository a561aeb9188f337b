// CUDA's mathematics libraries, as one unit: torch's headers are most of the time that each of them takes to compile.
#include "libraries/blas.cpp"
#include "libraries/blas_epilogues.cpp"
#include "libraries/blas_lt.cpp"
#include "libraries/blas_products.cpp"
#include "libraries/blas_vectors.cpp"
#include "libraries/fft.cpp"
#include "libraries/random.cpp"
#include "libraries/torch_random.cpp"
