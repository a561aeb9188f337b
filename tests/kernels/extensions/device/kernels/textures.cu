// What kernels read of textures, and read and write of surfaces.
struct Setup {
  int bits, components, kind, shape, size[3], flags, resource, filter, reads, normalized, modes[3], type;
  float border[4];
};
enum Shape { kLine, kLayers, kPlane, kPlanes, kSpace, kCube, kCubes, kLinear, kCorners };

template <class T>
__device__ T fetched(cudaTextureObject_t texture, int shape, float4 at) {
  const int layer = int(at.w);
  T value{};
  switch (shape) {
    case kLine: return tex1D<T>(texture, at.x);
    case kLayers: return tex1DLayered(&value, texture, at.x, layer), value;
    case kPlane: return layer ? tex2DLod<T>(texture, at.x, at.y, 0) : tex2D<T>(texture, at.x, at.y);
    case kPlanes: return tex2DLayered<T>(texture, at.x, at.y, layer);
    case kSpace: return tex3D(&value, texture, at.x, at.y, at.z), value;
    case kCube: return texCubemap<T>(texture, at.x, at.y, at.z);
    case kCubes: return texCubemapLayered(&value, texture, at.x, at.y, at.z, layer), value;
    case kLinear: return tex1Dfetch<T>(texture, int(at.x));
    default: return tex2Dgather<T>(texture, at.x, at.y, layer);
  }
}
template <class T>
__global__ void fetch(T* out, cudaTextureObject_t texture, int shape, const float4* places) {
  out[threadIdx.x] = fetched<T>(texture, shape, places[threadIdx.x]);
}
template <class T>
void launch(void* out, cudaTextureObject_t texture, int shape, const float4* places, int count) {
  fetch<<<1, count>>>(static_cast<T*>(out), texture, shape, places);
}
#define OF(NAME) launch<NAME##1>, launch<NAME##2>, launch<NAME##4>
decltype(&launch<float>) launches[] = {OF(char), OF(short), OF(int), OF(uchar), OF(ushort), OF(uint), OF(float)};

template <class T>
__device__ void access_one(T* value, cudaSurfaceObject_t surface, int shape, int4 at, cudaSurfaceBoundaryMode mode,
                           bool writes) {
  const int x = at.x * sizeof(T);
#define ACCESS(NAME, ...)                                           \
  if (writes) return NAME##write(*value, surface, __VA_ARGS__, mode); \
  return NAME##read(value, surface, __VA_ARGS__, mode)
  switch (shape) {
    case kLine: ACCESS(surf1D, x);
    case kLayers: ACCESS(surf1DLayered, x, at.w);
    case kPlane: ACCESS(surf2D, x, at.y);
    case kPlanes: ACCESS(surf2DLayered, x, at.y, at.w);
    case kSpace: ACCESS(surf3D, x, at.y, at.z);
    case kCube: ACCESS(surfCubemap, x, at.y, at.w);
    default: ACCESS(surfCubemapLayered, x, at.y, at.w);
  }
}
__global__ void access(float2* values, cudaSurfaceObject_t surface, int shape, const int4* places,
                       cudaSurfaceBoundaryMode mode, bool writes) {
  access_one(values + threadIdx.x, surface, shape, places[threadIdx.x], mode, writes);
}

cudaMemcpy3DParms whole(const cudaExtent& size, size_t element, void* memory, cudaArray_t array, bool into) {
  cudaMemcpy3DParms copy = {};
  copy.extent = make_cudaExtent(size.width, max(size.height, size_t(1)), max(size.depth, size_t(1)));
  (into ? copy.dstArray : copy.srcArray) = array;
  const size_t row = size.width * element;
  (into ? copy.srcPtr : copy.dstPtr) = make_cudaPitchedPtr(memory, row, size.width, copy.extent.height);
  return copy.kind = cudaMemcpyDefault, copy;
}
int fill_resource(const Setup& how, void* texels, cudaResourceDesc& resource) {
  auto bits = [&](int i) { return i < how.components ? how.bits : 0; };
  const auto format = cudaCreateChannelDesc(bits(0), bits(1), bits(2), bits(3), cudaChannelFormatKind(how.kind));
  const size_t element = how.bits / 8 * how.components, row = how.size[0] * element;
  resource.resType = cudaResourceType(how.resource);
  if (how.resource == cudaResourceTypeArray) {
    auto extent = make_cudaExtent(how.size[0], how.size[1], how.size[2]);
    if (int error = cudaMalloc3DArray(&resource.res.array.array, &format, extent, how.flags)) return error;
    auto copy = whole(extent, element, texels, resource.res.array.array, true);
    return cudaMemcpy3D(&copy);
  }
  if (how.resource == cudaResourceTypeLinear) {
    resource.res.linear = {nullptr, format, row};
    cudaMalloc(&resource.res.linear.devPtr, row);
    return cudaMemcpy(resource.res.linear.devPtr, texels, row, cudaMemcpyDefault);
  }
  auto& rows = resource.res.pitch2D;
  rows = {nullptr, format, size_t(how.size[0]), size_t(how.size[1]), 0};
  cudaMallocPitch(&rows.devPtr, &rows.pitchInBytes, row, rows.height);
  return cudaMemcpy2D(rows.devPtr, rows.pitchInBytes, texels, row, row, rows.height, cudaMemcpyDefault);
}

extern "C" {
int read_texture(const Setup* how, void* texels, const float4* places, void* out, int count) {
  cudaResourceDesc resource = {};
  if (int error = fill_resource(*how, texels, resource)) return error;
  cudaTextureDesc reads = {};
  for (int i = 0; i < 3; i++) reads.addressMode[i] = cudaTextureAddressMode(how->modes[i]);
  for (int i = 0; i < 4; i++) reads.borderColor[i] = how->border[i];
  reads.filterMode = cudaTextureFilterMode(how->filter), reads.readMode = cudaTextureReadMode(how->reads);
  reads.normalizedCoords = how->normalized;
  cudaTextureObject_t texture = 0;
  if (int error = cudaCreateTextureObject(&texture, &resource, &reads, nullptr)) return error;
  launches[how->type](out, texture, how->shape, places, count);
  if (cudaDeviceSynchronize() || cudaDestroyTextureObject(texture)) return 1;
  bool is_array = how->resource == cudaResourceTypeArray;
  return is_array ? cudaFreeArray(resource.res.array.array) : cudaFree(resource.res.linear.devPtr);
}
int access_surface(const Setup* how, float2* all, const int4* places, float2* values, int count, int mode, int writes) {
  cudaSurfaceObject_t surface;
  cudaResourceDesc resource = {};
  if (fill_resource(*how, all, resource) || cudaCreateSurfaceObject(&surface, &resource)) return 1;
  access<<<1, count>>>(values, surface, how->shape, places, cudaSurfaceBoundaryMode(mode), writes);
  cudaArray_t array = resource.res.array.array;
  auto back = whole(make_cudaExtent(how->size[0], how->size[1], how->size[2]), sizeof(float2), all, array, false);
  return cudaMemcpy3D(&back) || cudaDestroySurfaceObject(surface) || cudaFreeArray(array);
}
// Of 6 columns and 5 rows: from the host, in parts, among arrays, over the ends of rows, and back.
int copy_arrays(int* from, int* to, int* run) {
  cudaArray_t first, second;
  cudaExtent extent;
  cudaChannelFormatDesc found, format = cudaCreateChannelDesc<int>();
  unsigned flags = 9;
  const size_t row = 6 * sizeof(int);
  if (cudaMallocArray(&first, &format, 6, 5) || cudaMallocArray(&second, &format, 6, 5)) return 1;
  if (cudaMemcpy2DToArray(first, 0, 0, from, row, row, 5, cudaMemcpyHostToDevice)) return 2;
  if (cudaMemcpy2DArrayToArray(second, 8, 1, first, 4, 2, 12, 3)) return 3;
  if (cudaMemcpyToArrayAsync(second, 0, 0, from, row, cudaMemcpyHostToDevice)) return 4;
  if (cudaMemcpyFromArray(run, first, 16, 1, 20, cudaMemcpyDeviceToHost)) return 5;
  if (cudaMemcpy2DToArray(second, 4, 3, from, row, row, 1, cudaMemcpyHostToDevice) != cudaErrorInvalidValue) return 6;
  cudaMemcpy3DParms copy = {};
  copy.srcArray = first, copy.dstArray = second;
  copy.srcPos = make_cudaPos(3, 0, 0), copy.dstPos = make_cudaPos(0, 4, 0);
  copy.extent = make_cudaExtent(2, 1, 1), copy.kind = cudaMemcpyDeviceToDevice;
  if (cudaMemcpy3DAsync(&copy)) return 7;
  if (cudaMemcpy2DFromArrayAsync(to, row, second, 0, 0, row, 5, cudaMemcpyDeviceToHost)) return 8;
  if (cudaArrayGetInfo(&found, &extent, &flags, first) || flags || extent.width != 6 || extent.height != 5) return 9;
  if (extent.depth || found.x != 32 || found.y || found.f != cudaChannelFormatKindSigned) return 10;
  if (cudaFreeArray(first) || cudaFreeArray(second) || !cudaFreeArray(first)) return 11;
  return cudaGetLastError() != cudaErrorInvalidResourceHandle;
}
}
