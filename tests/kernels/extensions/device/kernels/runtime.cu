// The functions of CUDA's runtime, errors, and what a kernel can do wrong.
#include <cuda_runtime.h>

__global__ void fill(int* out, int value) { out[blockIdx.x * blockDim.x + threadIdx.x] = value; }
template <int BY>
__global__ void __launch_bounds__(32) offset_by(int* out, int value) { out[blockIdx.x * blockDim.x + threadIdx.x] += BY * value; }
__global__ void racing(int* out) {
  __shared__ int kept;
  if (threadIdx.x == 0) kept = 1;
  out[threadIdx.x] = kept;  // without a barrier
  __syncthreads();
  kept = 0;
}

extern "C" {
int round_trip(const int* in, int* out, int n) {
  int *device, *host, copied = 0;
  if (cudaMalloc(&device, n * sizeof(int)) != cudaSuccess) return -1;
  if (cudaMallocHost(&host, n * sizeof(int)) != cudaSuccess) return -2;
  cudaMemcpy(device, in, n * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemcpyAsync(host, device, n * sizeof(int), cudaMemcpyDeviceToHost, 0);
  cudaStreamSynchronize(0);
  cudaPointerAttributes attributes;
  cudaPointerGetAttributes(&attributes, device);
  copied = attributes.type == cudaMemoryTypeDevice && !attributes.hostPointer;
  cudaPointerGetAttributes(&attributes, host);
  copied &= attributes.type == cudaMemoryTypeHost && attributes.device == 0 && attributes.devicePointer == host;
  for (int i = 0; i < n; i++) out[i] = host[i];
  cudaMemset(device, 0xff, n * sizeof(int));
  cudaMemcpy(out + n, device, sizeof(int), cudaMemcpyDefault);
  return cudaFree(device) == cudaSuccess && cudaFreeHost(host) == cudaSuccess ? copied : -3;
}
float timed(int* out) {
  cudaEvent_t start, stop;
  cudaStream_t stream;
  cudaEventCreate(&start), cudaEventCreate(&stop), cudaStreamCreate(&stream);
  cudaEventRecord(start, stream);
  fill<<<4, 64, 0, stream>>>(out, 7);
  cudaEventRecord(stop, stream);
  cudaEventSynchronize(stop);
  float milliseconds = -1;
  cudaEventElapsedTime(&milliseconds, start, stop);
  cudaEventDestroy(start), cudaEventDestroy(stop), cudaStreamDestroy(stream);
  return cudaGetLastError() == cudaSuccess ? milliseconds : -1;
}
int errors(char* text) {
  int* pointer;
  if (cudaMalloc(&pointer, size_t(1) << 50) != cudaErrorMemoryAllocation) return 1;
  if (cudaPeekAtLastError() != cudaErrorMemoryAllocation) return 2;
  if (cudaGetLastError() != cudaErrorMemoryAllocation || cudaGetLastError() != cudaSuccess) return 3;
  if (cudaSetDevice(100) != cudaErrorInvalidDevice) return 4;
  const char* name = cudaGetErrorName(cudaGetLastError());
  for (int i = 0; (text[i] = name[i]); i++) {
  }
  return 0;
}
void properties(char* name, int* values) {
  cudaDeviceProp found;
  cudaGetDeviceProperties(&found, 0);
  for (int i = 0; (name[i] = found.name[i]); i++) {
  }
  values[0] = found.multiProcessorCount, values[1] = found.major * 10 + found.minor;
  cudaDeviceGetAttribute(values + 2, cudaDevAttrMaxThreadsPerBlock, 0);
}
int launch_by_address(int* out, int value, int which) {
  const void* kernels[] = {(const void*)fill, (void*)&offset_by<2>, nullptr};
  void* arguments[] = {&out, &value};
  cudaLaunchKernel(kernels[which], dim3(2), dim3(4), arguments, 0, nullptr);
  return cudaGetLastError();  // which forgets it
}
// A box of a space of the host's through a space of the device's, whose rows are longer, and back: 4 by 3 by 2 of 6 by 5 by 3.
int copy_box(int* from, int* to) {
  cudaPitchedPtr space;
  cudaStream_t stream;
  size_t row = 6 * sizeof(int), box = 4 * sizeof(int);
  if (cudaStreamCreate(&stream) || cudaMalloc3D(&space, make_cudaExtent(row, 5, 3)) || space.pitch % 512) return 1;
  if (cudaMemset3D(space, 1, make_cudaExtent(row, 5, 3)) || cudaMemset2D(space.ptr, space.pitch, 2, row, 2)) return 2;
  cudaMemcpy3DParms how = {};
  how.srcPtr = make_cudaPitchedPtr(from, row, 6, 5), how.dstPtr = space, how.kind = cudaMemcpyHostToDevice;
  how.srcPos = make_cudaPos(sizeof(int), 2, 0), how.dstPos = make_cudaPos(2 * sizeof(int), 0, 1);
  how.extent = make_cudaExtent(box, 3, 2);
  if (cudaMemcpy3D(&how)) return 3;
  cudaMemcpy3DParms back = {};
  back.srcPtr = space, back.dstPtr = make_cudaPitchedPtr(to, row, 6, 5), back.kind = cudaMemcpyDeviceToHost;
  back.extent = make_cudaExtent(row, 5, 3);
  if (cudaMemcpy3DAsync(&back, stream) || cudaStreamSynchronize(stream)) return 4;
  back.extent.width = space.pitch + 1;
  if (cudaMemcpy3D(&back) != cudaErrorInvalidPitchValue) return 5;
  back.extent.width = row, back.srcArray = reinterpret_cast<cudaArray_t>(from);
  if (cudaMemcpy3D(&back) != cudaErrorInvalidResourceHandle) return 6;
  if (cudaMemcpy2D(space.ptr, 1, from, 1, row, 1, cudaMemcpyDefault)) return 7;  // no pitch is gone by
  if (cudaMemcpy2D(space.ptr, 1, from, 1, row, 2, cudaMemcpyDefault) != cudaErrorInvalidPitchValue) return 8;
  cudaGetLastError();
  return cudaFree(space.ptr);
}
int advise() {
  int *pointer, device = -1;
  if (cudaMallocManaged(&pointer, 64, cudaMemAttachGlobal) || cudaGetDevice(&device)) return 1;
  cudaMemLocation place{cudaMemLocationTypeDevice, device}, host{cudaMemLocationTypeHost, 0};
  if (cudaMemAdvise(pointer, 64, cudaMemAdviseSetPreferredLocation, device)) return 2;
  if (cudaMemAdvise(pointer, 64, cudaMemAdviseSetAccessedBy, place)) return 3;
  if (cudaMemAdvise(pointer, 64, cudaMemAdviseSetReadMostly, cudaCpuDeviceId)) return 4;
  if (cudaMemPrefetchAsync(pointer, 64, host, 0, nullptr) || cudaMemPrefetchAsync(pointer, 64, device, nullptr)) return 5;
  if (cudaMemAdvise(pointer, 64, cudaMemAdviseUnsetAccessedBy, 100) != cudaErrorInvalidDevice) return 6;
  if (cudaMemAdvise(nullptr, 64, cudaMemAdviseUnsetReadMostly, device) != cudaErrorInvalidValue) return 7;
  cudaGetLastError();
  return cudaFree(pointer);
}
void launch_racing(int* out) { racing<<<1, 64>>>(out); }
}
