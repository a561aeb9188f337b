// What of the driver's interface headers name, and the functions that programs ask CUDA's runtime for by name.
#pragma once

#include "morph/runtime.h"

typedef unsigned int cuuint32_t;
typedef unsigned long long cuuint64_t;

// Of a launch (CUDA Driver API, 6.1).
enum CUlaunchAttributeID {
  CU_LAUNCH_ATTRIBUTE_IGNORE,
  CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW,
  CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
  CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY,
  CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
  CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
  CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
  CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT,
  CU_LAUNCH_ATTRIBUTE_PRIORITY
};
union CUlaunchAttributeValue {
  char pad[64];
  int cooperative, priority, programmaticStreamSerializationAllowed;
  struct { unsigned x, y, z; } clusterDim;
};
struct CUlaunchAttribute {
  CUlaunchAttributeID id;
  alignas(8) CUlaunchAttributeValue value;
};

// Of the Tensor Memory Accelerator (CUDA Driver API, 6.31), which the device has not: CuTe's headers name them.
struct alignas(64) CUtensorMap {
  unsigned long long opaque[16];
};
enum CUtensorMapDataType {
  CU_TENSOR_MAP_DATA_TYPE_UINT8,
  CU_TENSOR_MAP_DATA_TYPE_UINT16,
  CU_TENSOR_MAP_DATA_TYPE_UINT32,
  CU_TENSOR_MAP_DATA_TYPE_INT32,
  CU_TENSOR_MAP_DATA_TYPE_UINT64,
  CU_TENSOR_MAP_DATA_TYPE_INT64,
  CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
  CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
  CU_TENSOR_MAP_DATA_TYPE_FLOAT64,
  CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
  CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ,
  CU_TENSOR_MAP_DATA_TYPE_TFLOAT32,
  CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ,
  CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B,
  CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B,
  CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B
};
enum CUtensorMapInterleave {
  CU_TENSOR_MAP_INTERLEAVE_NONE,
  CU_TENSOR_MAP_INTERLEAVE_16B,
  CU_TENSOR_MAP_INTERLEAVE_32B
};
enum CUtensorMapSwizzle {
  CU_TENSOR_MAP_SWIZZLE_NONE,
  CU_TENSOR_MAP_SWIZZLE_32B,
  CU_TENSOR_MAP_SWIZZLE_64B,
  CU_TENSOR_MAP_SWIZZLE_128B,
  CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B,
  CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B_FLIP_8B,
  CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B
};
enum CUtensorMapL2promotion {
  CU_TENSOR_MAP_L2_PROMOTION_NONE,
  CU_TENSOR_MAP_L2_PROMOTION_L2_64B,
  CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
  CU_TENSOR_MAP_L2_PROMOTION_L2_256B
};
enum CUtensorMapFloatOOBfill {
  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
  CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA
};

typedef CUresult (*PFN_cuTensorMapEncodeTiled_v12000)(
    CUtensorMap*, CUtensorMapDataType, cuuint32_t rank, void* start, const cuuint64_t* sizes, const cuuint64_t* strides,
    const cuuint32_t* box, const cuuint32_t* steps, CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion,
    CUtensorMapFloatOOBfill);
typedef CUresult (*PFN_cuTensorMapEncodeIm2col_v12000)(
    CUtensorMap*, CUtensorMapDataType, cuuint32_t rank, void* start, const cuuint64_t* sizes, const cuuint64_t* strides,
    const int* lower, const int* upper, cuuint32_t channels, cuuint32_t pixels, const cuuint32_t* steps,
    CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
typedef PFN_cuTensorMapEncodeTiled_v12000 PFN_cuTensorMapEncodeTiled;
typedef PFN_cuTensorMapEncodeIm2col_v12000 PFN_cuTensorMapEncodeIm2col;

#define cudaEnableDefault 0x0
#define cudaEnableLegacyStream 0x1
#define cudaEnablePerThreadDefaultStream 0x2
enum cudaDriverEntryPointQueryResult {
  cudaDriverEntryPointSuccess,
  cudaDriverEntryPointSymbolNotFound,
  cudaDriverEntryPointVersionNotSufficent
};

// The driver has no functions for C++ here, so none is found.
inline cudaError_t cudaGetDriverEntryPoint(const char* name, void** function, unsigned long long,
                                           cudaDriverEntryPointQueryResult* found = nullptr) {
  if (!name || !function) return cudaErrorInvalidValue;
  if (found) *found = cudaDriverEntryPointSymbolNotFound;
  *function = nullptr;
  return cudaSuccess;
}
inline cudaError_t cudaGetDriverEntryPointByVersion(
    const char* name, void** function, unsigned, unsigned long long flags,
    cudaDriverEntryPointQueryResult* found = nullptr) {
  return cudaGetDriverEntryPoint(name, function, flags, found);
}
