// Surfaces: arrays that kernels read and write.
#include "textures.h"

#include "errors.h"

#include <c10/util/StringUtil.h>

#include <algorithm>

namespace morph_cuda {
namespace {

struct Surface {
  cudaResourceDesc resource;
  Shape shape;
  char* start;  // null: its array was freed
  size_t size[3];  // the first in bytes
};

Objects<Surface>& surfaces() {
  static auto& all = *new Objects<Surface>;
  return all;
}

const Surface& wanted_of(cudaSurfaceObject_t handle, const char* function, Shape shape, const void* site) {
  const Surface* found = surfaces().find(handle);
  if (!found) refuse_access(c10::str(function, ": there is no surface object ", handle), site);
  if (!found->start) refuse_access(c10::str(function, ": the surface's array was freed"), site);
  if (!is_for(shape, found->shape, int(found->size[1])))
    refuse_access(c10::str(function, ": the surface is of ", name_of(found->shape)), site);
  return *found;
}

}  // namespace

// Layers are counted, and so have no bounds to be clamped to.
void* place_in(cudaSurfaceObject_t handle, const char* function, Shape shape, cudaSurfaceBoundaryMode mode,
               size_t bytes, int x, int y, int z) {
  const void* site = __builtin_return_address(0);
  const Surface& surface = wanted_of(handle, function, shape, site);
  auto text = [&](const char* what) { return c10::str(function, ": ", what, " at (", x, ", ", y, ", ", z, ")"); };
  if (x % int(bytes)) refuse_access(text("a misaligned element"), site);
  if (mode == cudaBoundaryModeClamp) {
    auto clamp = [](int at, size_t end, size_t size) { return std::clamp(at, 0, std::max(int(end) - int(size), 0)); };
    x = clamp(x, surface.size[0], bytes), y = clamp(y, surface.size[1], 1);
    if (shape == Shape::k3D) z = clamp(z, surface.size[2], 1);
  }
  auto is_within = [&](int axis, int from, size_t count) {
    return from >= 0 && size_t(from) + count <= surface.size[axis];
  };
  bool has_slice = is_within(2, z, 1), is_inside = is_within(0, x, bytes) && is_within(1, y, 1) && has_slice;
  if (is_inside) return surface.start + (size_t(z) * surface.size[1] + size_t(y)) * surface.size[0] + x;
  if (!has_slice && shape != Shape::k3D) refuse_access(text("there is no such layer"), site);
  if (mode != cudaBoundaryModeZero) refuse_access(text("nothing is"), site);
  return nullptr;
}

void forget_objects_of(cudaArray_const_t array) {
  auto forget = [array](auto& object) {
    bool is_of = object.resource.resType == cudaResourceTypeArray && object.resource.res.array.array == array;
    if (is_of) object.start = nullptr;
  };
  textures().each(forget), surfaces().each(forget);
}

}  // namespace morph_cuda

using namespace morph_cuda;

extern "C" {
cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t* surface, const cudaResourceDesc* resource) {
  if (lasting()) return lasting();
  if (!surface || !resource || resource->resType != cudaResourceTypeArray) return remembered(cudaErrorInvalidValue);
  cudaArray_const_t array = resource->res.array.array;
  if (!is_live(array)) return remembered(cudaErrorInvalidResourceHandle);
  if (!(array->flags & cudaArraySurfaceLoadStore)) return remembered(cudaErrorInvalidValue);
  Surface made{*resource, array->shape(), array->start, {array->pitch(), array->rows(), array->slices()}};
  *surface = surfaces().add(made);
  return *surface ? cudaSuccess : remembered(cudaErrorMemoryAllocation);
}
cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t surface) {
  return !surface || surfaces().remove(surface) ? cudaSuccess : remembered(cudaErrorInvalidValue);
}
cudaError_t cudaGetSurfaceObjectResourceDesc(cudaResourceDesc* resource, cudaSurfaceObject_t surface) {
  const Surface* found = surfaces().find(surface);
  if (!found || !resource) return remembered(cudaErrorInvalidValue);
  return *resource = found->resource, cudaSuccess;
}
}
