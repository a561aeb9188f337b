// Arrays, textures and surfaces of the driver's interface.
#include <cuda.h>

#define TRY(CALL) \
  if (CUresult result = CALL) return int(result)

__global__ void read(float* out, CUtexObject texture, int width, bool as_integers) {
  int x = threadIdx.x, y = blockIdx.x;
  out[y * width + x] = as_integers ? tex2D<unsigned char>(texture, x, y) : tex2D<float>(texture, x, y);
}
__global__ void add_one(CUsurfObject surface) {
  unsigned char value = surf2Dread<unsigned char>(surface, threadIdx.x, blockIdx.x);
  surf2Dwrite<unsigned char>(value + 1, surface, threadIdx.x, blockIdx.x);
}

extern "C" {
// Through an array of bytes: what its texture reads, as reals and as integers, and a part of it after a surface's turn.
int round_trip(int width, int height, const unsigned char* texels, int pitch, float* reals, float* integers,
               unsigned char* part) {
  CUarray array;
  CUDA_ARRAY3D_DESCRIPTOR descr{size_t(width), size_t(height), 0, CU_AD_FORMAT_UNSIGNED_INT8, 1,
                                CUDA_ARRAY3D_SURFACE_LDST}, told;
  TRY(cuArray3DCreate(&array, &descr));
  TRY(cuArray3DGetDescriptor(&told, array));
  if (told.Width != descr.Width || told.Format != descr.Format || told.NumChannels != 1) return -1;
  CUDA_MEMCPY2D in{};
  in.srcMemoryType = CU_MEMORYTYPE_HOST, in.srcHost = texels, in.srcPitch = pitch, in.srcXInBytes = 1;
  in.dstMemoryType = CU_MEMORYTYPE_ARRAY, in.dstArray = array, in.WidthInBytes = width, in.Height = height;
  TRY(cuMemcpy2D(&in));
  CUDA_RESOURCE_DESC resource{CU_RESOURCE_TYPE_ARRAY};
  resource.res.array.hArray = array;
  for (bool as_integers : {false, true}) {
    CUDA_TEXTURE_DESC how{};
    how.flags = as_integers ? CU_TRSF_READ_AS_INTEGER : 0;
    CUtexObject texture;
    TRY(cuTexObjectCreate(&texture, &resource, &how, nullptr));
    read<<<height, width>>>(as_integers ? integers : reals, texture, width, as_integers);
    TRY(cuCtxSynchronize());
    TRY(cuTexObjectDestroy(texture));
  }
  CUsurfObject surface;
  TRY(cuSurfObjectCreate(&surface, &resource));
  add_one<<<height, width>>>(surface);
  TRY(cuCtxSynchronize());
  TRY(cuSurfObjectDestroy(surface));
  CUDA_MEMCPY3D out{};
  out.srcMemoryType = CU_MEMORYTYPE_ARRAY, out.srcArray = array, out.srcXInBytes = out.srcY = 1;
  out.dstMemoryType = CU_MEMORYTYPE_DEVICE, out.dstDevice = CUdeviceptr(part), out.dstPitch = width - 1;
  out.WidthInBytes = width - 1, out.Height = height - 1, out.Depth = 1;
  TRY(cuMemcpy3DAsync(&out, nullptr));
  TRY(cuCtxSynchronize());
  return cuArrayDestroy(array);
}
// Between memory and memory: a box, by rows.
int copy_box(int width, int height, const void* from, int from_pitch, void* to, int to_pitch) {
  CUDA_MEMCPY2D box{};
  box.srcMemoryType = box.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  box.srcDevice = CUdeviceptr(from), box.srcPitch = from_pitch, box.srcY = 1;
  box.dstDevice = CUdeviceptr(to), box.dstPitch = to_pitch, box.dstXInBytes = 1;
  box.WidthInBytes = width, box.Height = height;
  return cuMemcpy2DUnaligned(&box);
}
int wrong_array(int channels) {
  CUarray array;
  CUDA_ARRAY_DESCRIPTOR descr{4, 4, CU_AD_FORMAT_FLOAT, unsigned(channels)};
  return cuArrayCreate(&array, &descr);
}
int destroyed_twice() {
  CUarray array;
  CUDA_ARRAY_DESCRIPTOR descr{4, 4, CU_AD_FORMAT_HALF, 2};
  TRY(cuArrayCreate(&array, &descr));
  TRY(cuArrayDestroy(array));
  return cuArrayDestroy(array);
}
int last_of_the_runtime() { return cudaPeekAtLastError(); }
}
