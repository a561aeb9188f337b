// The driver, nvrtc and NCCL in one program, without the runtime's functions for what these do.
#include <cuda.h>
#include <nccl.h>
#include <nvrtc.h>

#include <cassert>
#include <cstdio>
#include <string>
#include <vector>

#define CHECK(CALL, GOOD)                                                              \
  if (int code = (CALL); code != GOOD) return std::printf("%s: %d\n", #CALL, code), 1;

static const char kSource[] = R"(
template <class T> __global__ void fill(T* x, T by) { x[threadIdx.x] = T(threadIdx.x) * by; }
__global__ void wrong(int* x) { assert(x == nullptr); }
)";

int main() {
  CHECK(cuInit(0), CUDA_SUCCESS);
  CUdevice device;
  CUcontext context;
  CHECK(cuDeviceGet(&device, 0), CUDA_SUCCESS);
  CHECK(cuDevicePrimaryCtxRetain(&context, device), CUDA_SUCCESS);
  CHECK(cuCtxSetCurrent(context), CUDA_SUCCESS);
  int major = 0;
  CHECK(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device), CUDA_SUCCESS);

  nvrtcProgram program;
  const char *option = "-arch=sm_80", *filled, *wrong;
  CHECK(nvrtcCreateProgram(&program, kSource, "own.cu", 0, nullptr, nullptr), NVRTC_SUCCESS);
  CHECK(nvrtcAddNameExpression(program, "fill<double>"), NVRTC_SUCCESS);
  CHECK(nvrtcAddNameExpression(program, "wrong"), NVRTC_SUCCESS);
  CHECK(nvrtcCompileProgram(program, 1, &option), NVRTC_SUCCESS);
  CHECK(nvrtcGetLoweredName(program, "fill<double>", &filled), NVRTC_SUCCESS);
  CHECK(nvrtcGetLoweredName(program, "wrong", &wrong), NVRTC_SUCCESS);
  size_t size = 0;
  CHECK(nvrtcGetCUBINSize(program, &size), NVRTC_SUCCESS);
  std::vector<char> image(size);
  CHECK(nvrtcGetCUBIN(program, image.data()), NVRTC_SUCCESS);
  std::string type;
  CHECK(nvrtcGetTypeName<const unsigned*>(&type), NVRTC_SUCCESS);

  CUmodule module;
  CUfunction function;
  CHECK(cuModuleLoadData(&module, image.data()), CUDA_SUCCESS);
  CHECK(cuModuleGetFunction(&function, module, filled), CUDA_SUCCESS);
  ncclComm_t comms[2];
  CUdeviceptr own[2];
  CHECK(ncclCommInitAll(comms, 2, nullptr), ncclSuccess);
  for (int i = 0; i < 2; i++) {
    CHECK(cudaSetDevice(i), cudaSuccess);
    CHECK(cuMemAlloc(&own[i], 4 * sizeof(double)), CUDA_SUCCESS);
    double by = i + 1;
    void* arguments[] = {&own[i], &by};
    CHECK(cuLaunchKernel(function, 1, 1, 1, 4, 1, 1, 0, nullptr, arguments, nullptr), CUDA_SUCCESS);
  }
  CHECK(ncclGroupStart(), ncclSuccess);
  for (int i = 0; i < 2; i++) {
    void* at = reinterpret_cast<void*>(own[i]);
    CHECK(ncclAllReduce(at, at, 4, ncclDouble, ncclSum, comms[i], nullptr), ncclSuccess);
  }
  CHECK(ncclGroupEnd(), ncclSuccess);
  double sums[4];
  CHECK(cuMemcpyDtoH(sums, own[1], sizeof sums), CUDA_SUCCESS);
  for (ncclComm_t each : comms) CHECK(ncclCommDestroy(each), ncclSuccess);
  CUdriverProcAddressQueryResult found;
  void* copy = nullptr;
  CHECK(cuGetProcAddress("cuMemcpy", &copy, 12080, CU_GET_PROC_ADDRESS_DEFAULT, &found), CUDA_SUCCESS);
  CHECK(found, CU_GET_PROC_ADDRESS_SUCCESS);
  CHECK(reinterpret_cast<decltype(&cuMemcpy)>(copy)(CUdeviceptr(sums), own[1] + 24, 8), CUDA_SUCCESS);
  std::printf("%d %s %g %g %g %g\n", major, type.c_str(), sums[0], sums[1], sums[2], sums[3]);

  CHECK(cuModuleGetFunction(&function, module, wrong), CUDA_SUCCESS);
  void* arguments[] = {&own[0]};
  CHECK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr), CUDA_SUCCESS);
  CHECK(cuCtxSynchronize(), CUDA_ERROR_ASSERT);
  const char* name;
  CHECK(cuGetErrorName(CUDA_ERROR_ASSERT, &name), CUDA_SUCCESS);
  std::puts(name);
}
