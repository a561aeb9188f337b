// cuSOLVER's handles and options. torch has workspaces of its own, so those of programs may be of any size.
#include "solver.h"

#include <c10/cuda/CUDAFunctions.h>

#include <map>
#include <memory>

namespace morph_cuda::solver {
namespace {

cusolverStatus_t unless_null(const void* object) {
  return object ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_INVALID_VALUE;
}

template <class T, class V>
cusolverStatus_t told(cusolverDnHandle_t handle, const T& value, V* into) {
  if (!handle) return CUSOLVER_STATUS_NOT_INITIALIZED;
  if (!into) return CUSOLVER_STATUS_INVALID_VALUE;
  return *into = value, CUSOLVER_STATUS_SUCCESS;
}
template <class T>
cusolverStatus_t sized(cusolverDnHandle_t handle, T* words) {
  return told(handle, 1, words);
}

template <class T>
cusolverStatus_t residual_of(cusolverDnHandle_t handle, const T* info, double* into) {
  if (!info) return CUSOLVER_STATUS_INVALID_VALUE;
  if (handle && !info->residual) return CUSOLVER_STATUS_NOT_SUPPORTED;
  return told(handle, info->residual.value_or(0), into);
}

}  // namespace
}  // namespace morph_cuda::solver

using namespace morph_cuda::solver;

struct cusolverDnParams {};

extern "C" {

cusolverStatus_t cusolverGetVersion(int* version) {
  if (!version) return CUSOLVER_STATUS_INVALID_VALUE;
  return *version = CUSOLVER_VERSION, CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverGetProperty(libraryPropertyType property, int* value) {
  const int parts[] = {CUSOLVER_VER_MAJOR, CUSOLVER_VER_MINOR, CUSOLVER_VER_PATCH};
  if (!value || property < MAJOR_VERSION || property > PATCH_LEVEL) return CUSOLVER_STATUS_INVALID_VALUE;
  return *value = parts[property], CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t* handle) { return made(handle); }
cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t handle) {
  return handle ? destroyed(handle) : CUSOLVER_STATUS_NOT_INITIALIZED;
}
cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t handle, cudaStream_t stream) {
  return told(handle, stream, handle ? &handle->stream : nullptr);
}
cusolverStatus_t cusolverDnGetStream(cusolverDnHandle_t handle, cudaStream_t* stream) {
  return told(handle, handle ? handle->stream : nullptr, stream);
}
cusolverStatus_t cusolverDnSetDeterministicMode(cusolverDnHandle_t handle, cusolverDeterministicMode_t mode) {
  return told(handle, mode, handle ? &handle->mode : nullptr);
}
cusolverStatus_t cusolverDnGetDeterministicMode(cusolverDnHandle_t handle, cusolverDeterministicMode_t* mode) {
  return told(handle, handle ? handle->mode : CUSOLVER_DETERMINISTIC_RESULTS, mode);
}
cusolverStatus_t cusolverDnCreateParams(cusolverDnParams_t* params) { return made(params); }
cusolverStatus_t cusolverDnDestroyParams(cusolverDnParams_t params) { return destroyed(params); }
cusolverStatus_t cusolverDnSetAdvOptions(cusolverDnParams_t params, cusolverDnFunction_t, cusolverAlgMode_t) {
  return unless_null(params);
}

#define MORPH_JACOBI(NAME, X, TYPE)                                                                                   \
  cusolverStatus_t cusolverDnCreate##NAME(TYPE##_t* info) { return made(info); }                                       \
  cusolverStatus_t cusolverDnDestroy##NAME(TYPE##_t info) { return destroyed(info); }                                  \
  cusolverStatus_t cusolverDn##X##SetTolerance(TYPE##_t info, double) { return unless_null(info); }                    \
  cusolverStatus_t cusolverDn##X##SetMaxSweeps(TYPE##_t info, int) { return unless_null(info); }                       \
  cusolverStatus_t cusolverDn##X##SetSortEig(TYPE##_t info, int) { return unless_null(info); }                         \
  cusolverStatus_t cusolverDn##X##GetResidual(cusolverDnHandle_t handle, TYPE##_t info, double* residual) {            \
    return residual_of(handle, info, residual);                                                                        \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##X##GetSweeps(cusolverDnHandle_t handle, TYPE##_t info, int* sweeps) {                   \
    double residual;                                                                                                   \
    cusolverStatus_t status = residual_of(handle, info, &residual);                                                    \
    return status ? status : told(handle, 0, sweeps);                                                                  \
  }
MORPH_JACOBI(SyevjInfo, Xsyevj, syevjInfo)
MORPH_JACOBI(GesvdjInfo, Xgesvdj, gesvdjInfo)
#undef MORPH_JACOBI
}

#define MORPH_SIZE(NAME, ...) \
  cusolverStatus_t NAME(__VA_ARGS__) { return sized(handle, words); }
#define MORPH_SIZES(NAME, ...)                                      \
  cusolverStatus_t NAME(__VA_ARGS__) {                              \
    cusolverStatus_t status = sized(handle, on_device);             \
    return status ? status : told(handle, 0, on_host);              \
  }
#include "morph/solver_sizes.h"
#undef MORPH_SIZE
#undef MORPH_SIZES

namespace at::cuda {

// As cuBLAS's.
cusolverDnHandle_t getCurrentCUDASolverDnHandle() {
  thread_local std::map<c10::DeviceIndex, std::unique_ptr<cusolverDnContext>> all;
  std::unique_ptr<cusolverDnContext>& mine = all[c10::cuda::current_device()];
  if (!mine) mine = std::make_unique<cusolverDnContext>();
  mine->stream = c10::cuda::getCurrentCUDAStream().stream();
  return mine.get();
}

namespace solver {
const char* cusolverGetErrorMessage(cusolverStatus_t status) {
  switch (status) {
    case CUSOLVER_STATUS_SUCCESS: return "CUSOLVER_STATUS_SUCCESS";
    case CUSOLVER_STATUS_NOT_INITIALIZED: return "CUSOLVER_STATUS_NOT_INITIALIZED";
    case CUSOLVER_STATUS_ALLOC_FAILED: return "CUSOLVER_STATUS_ALLOC_FAILED";
    case CUSOLVER_STATUS_INVALID_VALUE: return "CUSOLVER_STATUS_INVALID_VALUE";
    case CUSOLVER_STATUS_EXECUTION_FAILED: return "CUSOLVER_STATUS_EXECUTION_FAILED";
    case CUSOLVER_STATUS_NOT_SUPPORTED: return "CUSOLVER_STATUS_NOT_SUPPORTED";
    default: return "Unknown cusolver error number";
  }
}
}  // namespace solver
}  // namespace at::cuda
