// Ranges and names for profilers, as a program gives them.
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCudaRt.h>

__global__ void increase(int* a) { a[threadIdx.x]++; }

extern "C" int named_work(int* a, int n) {
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  nvtxNameCudaStreamA(stream, "work");
  nvtxEventAttributes_t attributes = {};
  attributes.version = NVTX_VERSION, attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII, attributes.message.ascii = "step";
  nvtxRangeId_t range = nvtxRangeStartEx(&attributes);
  int depth = nvtxRangePush(__func__);
  increase<<<1, n, 0, stream>>>(a);
  cudaStreamSynchronize(stream);
  nvtxRangeEnd(range);
  return nvtxRangePop() == depth ? depth : 0;
}
