// See arrays.h.
#include "arrays.h"

#include "errors.h"
#include "morph/runtime.h"

#include <array>
#include <memory>
#include <mutex>
#include <set>

namespace morph_cuda {
namespace {

struct Live {
  std::mutex mutex;
  std::set<cudaArray_const_t> all;
};
Live& live() {
  static auto& kept = *new Live;
  return kept;
}

constexpr unsigned kCube = cudaArrayCubemap, kLayered = cudaArrayLayered;
constexpr unsigned kServed = kCube | kLayered | cudaArraySurfaceLoadStore | cudaArrayTextureGather;

Shape shape_of(const cudaExtent& extent, unsigned flags) {
  if (flags & kCube) return flags & kLayered ? Shape::kCubemapLayered : Shape::kCubemap;
  if (flags & kLayered) return extent.height ? Shape::k2DLayered : Shape::k1DLayered;
  return extent.depth ? Shape::k3D : extent.height ? Shape::k2D : Shape::k1D;
}

bool is_whole(const cudaExtent& extent, unsigned flags) {
  bool is_cube = extent.width == extent.height && extent.depth % 6 == 0 && (flags & kLayered || extent.depth == 6);
  if (flags & kCube && !is_cube) return false;
  if (flags & cudaArrayTextureGather && shape_of(extent, flags) != Shape::k2D) return false;
  return extent.width && (flags & kLayered ? extent.depth : !extent.depth || extent.height);
}

// By its shape: the attributes of the device that bound it.
struct Bounds {
  cudaDeviceAttr width, height, depth;
};
constexpr auto kNone = cudaDeviceAttr(0);
Bounds texture_bounds(Shape shape) {
  switch (shape) {
    case Shape::k1D: return {cudaDevAttrMaxTexture1DWidth, kNone, kNone};
    case Shape::k2D: return {cudaDevAttrMaxTexture2DWidth, cudaDevAttrMaxTexture2DHeight, kNone};
    case Shape::k1DLayered: return {cudaDevAttrMaxTexture1DLayeredWidth, kNone, cudaDevAttrMaxTexture1DLayeredLayers};
    case Shape::k2DLayered:
      return {cudaDevAttrMaxTexture2DLayeredWidth, cudaDevAttrMaxTexture2DLayeredHeight,
              cudaDevAttrMaxTexture2DLayeredLayers};
    case Shape::kCubemap: return {cudaDevAttrMaxTextureCubemapWidth, kNone, kNone};
    case Shape::kCubemapLayered:
      return {cudaDevAttrMaxTextureCubemapLayeredWidth, kNone, cudaDevAttrMaxTextureCubemapLayeredLayers};
    default: return {cudaDevAttrMaxTexture3DWidth, cudaDevAttrMaxTexture3DHeight, cudaDevAttrMaxTexture3DDepth};
  }
}
bool fits(const cudaExtent& extent, const Bounds& bounds) {
  auto fits = [](size_t size, cudaDeviceAttr most) { return most == kNone || size <= size_t(texture_limit(most)); };
  return fits(extent.width, bounds.width) && fits(extent.height, bounds.height) && fits(extent.depth, bounds.depth);
}
bool fits(const cudaExtent& extent, unsigned flags) {
  Shape shape = shape_of(extent, flags);
  if (flags & cudaArrayTextureGather)
    return fits(extent, {cudaDevAttrMaxTexture2DGatherWidth, cudaDevAttrMaxTexture2DGatherHeight, kNone});
  bool is_line = shape == Shape::k1D && flags & cudaArraySurfaceLoadStore;  // by which alone surfaces are smaller
  return fits(extent, is_line ? Bounds{cudaDevAttrMaxSurface1DWidth, kNone, kNone} : texture_bounds(shape));
}

cudaError_t problem_of(const cudaChannelFormatDesc* format, const cudaExtent& extent, unsigned flags) {
  if (!format || !is_whole(extent, flags)) return cudaErrorInvalidValue;
  if (flags & ~kServed) return cudaErrorNotSupported;
  if (!element_of(*format)) return cudaErrorInvalidChannelDescriptor;
  return fits(extent, flags) ? cudaSuccess : cudaErrorInvalidValue;
}

}  // namespace

int components_of(const cudaChannelFormatDesc& format) { return !!format.x + !!format.y + !!format.z + !!format.w; }

size_t element_of(const cudaChannelFormatDesc& format) {
  const int count = components_of(format), bits[] = {format.x, format.y, format.z, format.w};
  for (int i = 0; i < 4; i++)
    if (bits[i] != (i < count ? format.x : 0)) return 0;
  bool is_whole = format.f == cudaChannelFormatKindSigned || format.f == cudaChannelFormatKindUnsigned;
  bool is_known = (is_whole && format.x == 8) || format.x == 16 || format.x == 32;
  bool is_served = is_known && (count == 1 || count == 2 || count == 4);
  return is_served && (is_whole || format.f == cudaChannelFormatKindFloat) ? size_t(count * format.x / 8) : 0;
}

bool is_live(cudaArray_const_t array) {
  std::lock_guard<std::mutex> lock(live().mutex);
  return live().all.count(array);
}

cudaError_t box_of(cudaArray_const_t array, const cudaPos& at, const cudaExtent& size, Box& box) {
  if (!is_live(array)) return cudaErrorInvalidResourceHandle;
  auto is_within = [](size_t from, size_t count, size_t all) { return from <= all && count <= all - from; };
  bool is_inside = is_within(at.x, size.width, array->pitch()) && is_within(at.y, size.height, array->rows()) &&
                   is_within(at.z, size.depth, array->slices());
  if (!is_inside) return cudaErrorInvalidValue;
  box = {array->start + (at.z * array->rows() + at.y) * array->pitch() + at.x, array->pitch(), array->rows()};
  return cudaSuccess;
}

}  // namespace morph_cuda

using namespace morph_cuda;

size_t cudaArray::element() const { return element_of(format); }
Shape cudaArray::shape() const { return shape_of(extent, flags); }

extern "C" {
cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind kind) {
  return {x, y, z, w, kind};
}

cudaError_t cudaMalloc3DArray(cudaArray_t* array, const cudaChannelFormatDesc* format, cudaExtent extent,
                              unsigned flags) {
  if (lasting()) return lasting();
  cudaError_t problem = array ? problem_of(format, extent, flags) : cudaErrorInvalidValue;
  if (problem) return remembered(problem);
  auto made = std::make_unique<cudaArray>(cudaArray{*format, extent, flags, nullptr});
  void* start = nullptr;
  if (cudaError_t error = cudaMalloc(&start, made->pitch() * made->rows() * made->slices())) return error;
  made->start = static_cast<char*>(start);
  std::lock_guard<std::mutex> lock(live().mutex);
  live().all.insert(*array = made.release());
  return cudaSuccess;
}
cudaError_t cudaMallocArray(cudaArray_t* array, const cudaChannelFormatDesc* format, size_t width, size_t height,
                            unsigned flags) {
  if (flags & (kCube | kLayered)) return remembered(cudaErrorInvalidValue);
  return cudaMalloc3DArray(array, format, {width, height, 0}, flags);
}
cudaError_t cudaFreeArray(cudaArray_t array) {
  if (!array) return cudaSuccess;
  {
    std::lock_guard<std::mutex> lock(live().mutex);
    if (!live().all.erase(array)) return remembered(cudaErrorInvalidResourceHandle);
  }
  std::unique_ptr<cudaArray> gone(array);
  forget_objects_of(array);
  return cudaFree(array->start);
}
cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc* format, cudaExtent* extent, unsigned* flags, cudaArray_t array) {
  if (!is_live(array)) return remembered(cudaErrorInvalidResourceHandle);
  if (format) *format = array->format;
  if (extent) *extent = array->extent;
  if (flags) *flags = array->flags;
  return cudaSuccess;
}
cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc* format, cudaArray_const_t array) {
  return cudaArrayGetInfo(format, nullptr, nullptr, const_cast<cudaArray_t>(array));
}
}
