// Asks the runtime for a function of the driver by name and by type, as CuTe's headers do, and does without it.
#include <cstdio>
#include <cuda.h>
#include <cudaTypedefs.h>

int main() {
  CUlaunchAttribute attribute = {CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, {}};
  attribute.value.clusterDim = {2, 1, 1};
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSuccess;
  void* function = &found;
  const char* name = "cuTensorMapEncodeTiled";
  cudaError_t error = cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found);
  bool there = found == cudaDriverEntryPointSuccess && reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(function);
  std::printf("%s %d %u\n", cudaGetErrorName(error), there, attribute.value.clusterDim.x);
  error = cudaGetDriverEntryPointByVersion(nullptr, &function, 12000, cudaEnableDefault, &found);
  std::printf("%s %zu\n", cudaGetErrorName(error), sizeof attribute);
}
