// The driver's arrays, textures and surfaces: those of CUDA's runtime.
#include "arrays.h"
#include "errors.h"
#include "morph/driver_functions.h"

namespace morph_cuda {
namespace {

// The runtime's errors of a wrong argument have numbers of their own.
CUresult drivers(cudaError_t error) {
  switch (error) {
    case cudaErrorInvalidChannelDescriptor: case cudaErrorInvalidTexture: case cudaErrorInvalidPitchValue:
    case cudaErrorInvalidMemcpyDirection: case cudaErrorInvalidFilterSetting:
      return CUDA_ERROR_INVALID_VALUE;
    default: return CUresult(error);
  }
}
template <class F>
CUresult called(bool is_valid, F work) {
  if (lasting()) return CUresult(lasting());
  if (!is_valid) return CUDA_ERROR_INVALID_VALUE;
  cudaError_t before = cudaPeekAtLastError();
  CUresult result = drivers(work());
  cudaGetLastError();  // which knows no errors of the driver's functions
  remembered(before);
  return result;
}

struct Format {
  CUarray_format name;
  int bits;
  cudaChannelFormatKind kind;
};
constexpr Format kFormats[] = {
    {CU_AD_FORMAT_UNSIGNED_INT8, 8, cudaChannelFormatKindUnsigned},
    {CU_AD_FORMAT_UNSIGNED_INT16, 16, cudaChannelFormatKindUnsigned},
    {CU_AD_FORMAT_UNSIGNED_INT32, 32, cudaChannelFormatKindUnsigned},
    {CU_AD_FORMAT_SIGNED_INT8, 8, cudaChannelFormatKindSigned},
    {CU_AD_FORMAT_SIGNED_INT16, 16, cudaChannelFormatKindSigned},
    {CU_AD_FORMAT_SIGNED_INT32, 32, cudaChannelFormatKindSigned},
    {CU_AD_FORMAT_HALF, 16, cudaChannelFormatKindFloat},
    {CU_AD_FORMAT_FLOAT, 32, cudaChannelFormatKindFloat},
};
cudaChannelFormatDesc runtimes(CUarray_format name, unsigned channels) {
  for (const Format& each : kFormats)
    if (each.name == name && (channels == 1 || channels == 2 || channels == 4)) {
      auto bits = [&](unsigned of) { return of < channels ? each.bits : 0; };
      return {bits(0), bits(1), bits(2), bits(3), each.kind};
    }
  return {0, 0, 0, 0, cudaChannelFormatKindNone};
}
CUarray_format format_of(const cudaChannelFormatDesc& format) {
  for (const Format& each : kFormats)
    if (each.bits == format.x && each.kind == format.f) return each.name;
  return {};
}

cudaArray_t array_of(CUarray array) { return reinterpret_cast<cudaArray_t>(array); }
void* pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

struct CopySide {  // of a copy
  CUmemorytype type;
  const void* host;
  CUdeviceptr device;
  CUarray array;
  size_t x, y, z, pitch, height;

  bool is_array() const { return type == CU_MEMORYTYPE_ARRAY; }
  bool is_host() const { return type == CU_MEMORYTYPE_HOST; }
  bool is_valid() const {
    bool is_type = type >= CU_MEMORYTYPE_HOST && type <= CU_MEMORYTYPE_UNIFIED;
    return is_type && (!is_array() || is_live(array_of(array)));
  }
  // The array of it, a place there in elements, and memory from the place on.
  void tell(cudaArray_t& to, cudaPos& place, cudaPitchedPtr& memory, const cudaExtent& bytes) const {
    if (is_array()) return void((to = array_of(array), place = {x / to->element(), y, z}));
    size_t row = pitch ? pitch : x + bytes.width, rows = height ? height : y + bytes.height;
    const char* start = static_cast<const char*>(is_host() ? host : pointer(device));
    memory = {const_cast<char*>(start) + (z * rows + y) * row + x, row, bytes.width, rows};
  }
};
CopySide source(const CUDA_MEMCPY3D& of) {
  return {of.srcMemoryType, of.srcHost, of.srcDevice, of.srcArray, of.srcXInBytes, of.srcY,
          of.srcZ,          of.srcPitch, of.srcHeight};
}
CopySide target(const CUDA_MEMCPY3D& of) {
  return {of.dstMemoryType, of.dstHost, of.dstDevice, of.dstArray, of.dstXInBytes, of.dstY,
          of.dstZ,          of.dstPitch, of.dstHeight};
}
cudaMemcpyKind kind_of(const CopySide& from, const CopySide& to) {
  if (from.type == CU_MEMORYTYPE_UNIFIED || to.type == CU_MEMORYTYPE_UNIFIED) return cudaMemcpyDefault;
  if (from.is_host()) return to.is_host() ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice;
  return to.is_host() ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice;
}

template <class F>
CUresult copied(const CUDA_MEMCPY3D* of, F copy) {
  if (!of) return called(false, [] { return cudaSuccess; });
  CopySide from = source(*of), to = target(*of);
  bool is_valid = from.is_valid() && to.is_valid() && !of->srcLOD && !of->dstLOD;
  size_t element = 1;
  for (const CopySide& each : {from, to}) {
    if (!is_valid || !each.is_array()) continue;
    element = array_of(each.array)->element();
    is_valid &= each.x % element == 0 && of->WidthInBytes % element == 0;
  }
  return called(is_valid, [&] {
    cudaExtent bytes{of->WidthInBytes, of->Height, of->Depth};
    cudaMemcpy3DParms all{};
    from.tell(all.srcArray, all.srcPos, all.srcPtr, bytes), to.tell(all.dstArray, all.dstPos, all.dstPtr, bytes);
    all.extent = {bytes.width / element, bytes.height, bytes.depth};
    all.kind = kind_of(from, to);
    return copy(all);
  });
}
CUDA_MEMCPY3D deep(const CUDA_MEMCPY2D& of) {
  CUDA_MEMCPY3D all{};
  all.srcXInBytes = of.srcXInBytes, all.srcY = of.srcY, all.srcMemoryType = of.srcMemoryType;
  all.srcHost = of.srcHost, all.srcDevice = of.srcDevice, all.srcArray = of.srcArray, all.srcPitch = of.srcPitch;
  all.dstXInBytes = of.dstXInBytes, all.dstY = of.dstY, all.dstMemoryType = of.dstMemoryType;
  all.dstHost = of.dstHost, all.dstDevice = of.dstDevice, all.dstArray = of.dstArray, all.dstPitch = of.dstPitch;
  all.WidthInBytes = of.WidthInBytes, all.Height = of.Height, all.Depth = 1;
  return all;
}

cudaResourceDesc runtimes(const CUDA_RESOURCE_DESC& of) {
  cudaResourceDesc all{};
  all.resType = cudaResourceType(of.resType), all.flags = of.flags;
  if (of.resType == CU_RESOURCE_TYPE_ARRAY) all.res.array.array = array_of(of.res.array.hArray);
  if (auto& from = of.res.linear; of.resType == CU_RESOURCE_TYPE_LINEAR)
    all.res.linear = {pointer(from.devPtr), runtimes(from.format, from.numChannels), from.sizeInBytes};
  if (auto& from = of.res.pitch2D; of.resType == CU_RESOURCE_TYPE_PITCH2D)
    all.res.pitch2D = {pointer(from.devPtr), runtimes(from.format, from.numChannels), from.width, from.height,
                       from.pitchInBytes};
  return all;
}
cudaChannelFormatDesc format_of(const cudaResourceDesc& of) {
  if (of.resType == cudaResourceTypeLinear) return of.res.linear.desc;
  if (of.resType == cudaResourceTypePitch2D) return of.res.pitch2D.desc;
  bool is_known = of.resType == cudaResourceTypeArray && is_live(of.res.array.array);
  return is_known ? of.res.array.array->format : cudaChannelFormatDesc{};
}
// Integers of 8 and 16 bits are read as numbers up to 1, unless a flag says otherwise.
cudaTextureDesc runtimes(const CUDA_TEXTURE_DESC& of, const cudaChannelFormatDesc& format) {
  cudaTextureDesc all{};
  for (int i = 0; i < 3; i++) all.addressMode[i] = cudaTextureAddressMode(of.addressMode[i]);
  std::copy_n(of.borderColor, 4, all.borderColor);
  bool is_whole = format.f != cudaChannelFormatKindFloat && format.x < 32 && !(of.flags & CU_TRSF_READ_AS_INTEGER);
  all.filterMode = cudaTextureFilterMode(of.filterMode);
  all.readMode = is_whole ? cudaReadModeNormalizedFloat : cudaReadModeElementType;
  all.normalizedCoords = bool(of.flags & CU_TRSF_NORMALIZED_COORDINATES), all.sRGB = bool(of.flags & CU_TRSF_SRGB);
  all.seamlessCubemap = bool(of.flags & CU_TRSF_SEAMLESS_CUBEMAP), all.maxAnisotropy = of.maxAnisotropy;
  return all;
}

}  // namespace
}  // namespace morph_cuda

using namespace morph_cuda;

extern "C" {

CUresult cuArray3DCreate(CUarray* array, const CUDA_ARRAY3D_DESCRIPTOR* descr) {
  return called(array && descr, [&] {
    cudaChannelFormatDesc format = runtimes(descr->Format, descr->NumChannels);
    return cudaMalloc3DArray(reinterpret_cast<cudaArray_t*>(array), &format,
                             {descr->Width, descr->Height, descr->Depth}, descr->Flags);
  });
}
CUresult cuArrayCreate(CUarray* array, const CUDA_ARRAY_DESCRIPTOR* descr) {
  if (!descr) return cuArray3DCreate(array, nullptr);
  CUDA_ARRAY3D_DESCRIPTOR deep{descr->Width, descr->Height, 0, descr->Format, descr->NumChannels, 0};
  return cuArray3DCreate(array, &deep);
}
CUresult cuArray3DGetDescriptor(CUDA_ARRAY3D_DESCRIPTOR* descr, CUarray array) {
  return called(descr && is_live(array_of(array)), [&] {
    const cudaArray& of = *array_of(array);
    unsigned channels = unsigned(components_of(of.format));
    *descr = {of.extent.width, of.extent.height, of.extent.depth, format_of(of.format), channels, of.flags};
    return cudaSuccess;
  });
}
CUresult cuArrayGetDescriptor(CUDA_ARRAY_DESCRIPTOR* descr, CUarray array) {
  CUDA_ARRAY3D_DESCRIPTOR deep;
  CUresult result = cuArray3DGetDescriptor(descr ? &deep : nullptr, array);
  if (!result) *descr = {deep.Width, deep.Height, deep.Format, deep.NumChannels};
  return result;
}
CUresult cuArrayDestroy(CUarray array) {
  return called(array, [&] { return cudaFreeArray(array_of(array)); });
}

CUresult cuMemcpy3D(const CUDA_MEMCPY3D* copy) {
  return copied(copy, [](auto& all) { return cudaMemcpy3D(&all); });
}
CUresult cuMemcpy3DAsync(const CUDA_MEMCPY3D* copy, CUstream stream) {
  return copied(copy, [&](auto& all) { return cudaMemcpy3DAsync(&all, cudaStream_t(stream)); });
}
CUresult cuMemcpy2D(const CUDA_MEMCPY2D* copy) {
  CUDA_MEMCPY3D all = copy ? deep(*copy) : CUDA_MEMCPY3D{};
  return cuMemcpy3D(copy ? &all : nullptr);
}
CUresult cuMemcpy2DUnaligned(const CUDA_MEMCPY2D* copy) { return cuMemcpy2D(copy); }
CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D* copy, CUstream stream) {
  CUDA_MEMCPY3D all = copy ? deep(*copy) : CUDA_MEMCPY3D{};
  return cuMemcpy3DAsync(copy ? &all : nullptr, stream);
}

CUresult cuTexObjectCreate(CUtexObject* texture, const CUDA_RESOURCE_DESC* resource, const CUDA_TEXTURE_DESC* how,
                           const CUDA_RESOURCE_VIEW_DESC* view) {
  return called(texture && resource && how, [&] {
    cudaResourceDesc of = runtimes(*resource);
    cudaTextureDesc by = runtimes(*how, format_of(of));
    return cudaCreateTextureObject(texture, &of, &by, reinterpret_cast<const cudaResourceViewDesc*>(view));
  });
}
CUresult cuTexObjectDestroy(CUtexObject texture) {
  return called(true, [&] { return cudaDestroyTextureObject(texture); });
}
CUresult cuSurfObjectCreate(CUsurfObject* surface, const CUDA_RESOURCE_DESC* resource) {
  return called(surface && resource, [&] {
    cudaResourceDesc of = runtimes(*resource);
    return cudaCreateSurfaceObject(surface, &of);
  });
}
CUresult cuSurfObjectDestroy(CUsurfObject surface) {
  return called(true, [&] { return cudaDestroySurfaceObject(surface); });
}
}
