// The objects of textures.
#include "textures.h"

#include "errors.h"

#include <algorithm>

namespace morph_cuda {
namespace {

cudaError_t read_array(const cudaResourceDesc& of, Texture& made) {
  cudaArray_const_t array = of.res.array.array;
  if (!is_live(array)) return cudaErrorInvalidResourceHandle;
  made.format = array->format, made.start = array->start, made.shape = array->shape();
  made.size[0] = int(array->extent.width), made.size[1] = int(array->rows()), made.size[2] = int(array->slices());
  made.layers = made.size[2];
  made.pitch = array->pitch(), made.slice = array->pitch() * array->rows();
  made.is_gathered = array->flags & cudaArrayTextureGather;
  return cudaSuccess;
}

cudaError_t read_linear(const cudaResourceDesc& of, Texture& made) {
  const auto& line = of.res.linear;
  const size_t element = element_of(line.desc);
  if (!element) return cudaErrorInvalidChannelDescriptor;
  const size_t width = line.sizeInBytes / element;
  if (!width || width > size_t(texture_limit(cudaDevAttrMaxTexture1DLinearWidth))) return cudaErrorInvalidValue;
  made.format = line.desc, made.start = static_cast<const char*>(line.devPtr), made.shape = Shape::kLinear;
  made.size[0] = int(width), made.size[1] = made.size[2] = made.layers = 1;
  return cudaSuccess;
}

cudaError_t read_rows(const cudaResourceDesc& of, Texture& made) {
  const auto& rows = of.res.pitch2D;
  const size_t element = element_of(rows.desc);
  if (!element) return cudaErrorInvalidChannelDescriptor;
  auto fits = [](size_t size, cudaDeviceAttr most) { return size && size <= size_t(texture_limit(most)); };
  bool is_small = fits(rows.width, cudaDevAttrMaxTexture2DLinearWidth) &&
                  fits(rows.height, cudaDevAttrMaxTexture2DLinearHeight) &&
                  fits(rows.pitchInBytes, cudaDevAttrMaxTexture2DLinearPitch);
  bool is_pitched = rows.pitchInBytes % kPitchAlignment == 0 && rows.width * element <= rows.pitchInBytes;
  if (!is_small || !is_pitched) return cudaErrorInvalidValue;
  made.format = rows.desc, made.start = static_cast<const char*>(rows.devPtr), made.shape = Shape::k2D;
  made.size[0] = int(rows.width), made.size[1] = int(rows.height), made.size[2] = made.layers = 1;
  made.pitch = rows.pitchInBytes;
  return cudaSuccess;
}

cudaError_t read_resource(const cudaResourceDesc& of, Texture& made) {
  switch (of.resType) {
    case cudaResourceTypeArray: return read_array(of, made);
    case cudaResourceTypeLinear: return read_linear(of, made);
    case cudaResourceTypePitch2D: return read_rows(of, made);
    case cudaResourceTypeMipmappedArray: return cudaErrorNotSupported;
    default: return cudaErrorInvalidValue;
  }
}

bool is_normalized(const Texture& made) {
  bool is_short = made.format.f != cudaChannelFormatKindFloat && made.format.x < 32;  // others stay as they are
  return made.how.readMode == cudaReadModeNormalizedFloat && is_short;
}

// Wrapping and mirroring are for normalized coordinates alone (CUDA Runtime API, cudaTextureDesc::addressMode).
cudaTextureAddressMode working(cudaTextureAddressMode mode, bool is_normalized) {
  bool turns = mode == cudaAddressModeWrap || mode == cudaAddressModeMirror;
  return turns && !is_normalized ? cudaAddressModeClamp : mode;
}

bool is_served(const Texture& made) {
  const cudaTextureDesc& how = made.how;
  const float* border = how.borderColor;
  bool has_border = std::any_of(border, border + 4, [](float each) { return each != 0; });
  return !how.sRGB && how.maxAnisotropy <= 1 && !how.seamlessCubemap && (made.is_real || !has_border);
}

cudaError_t make(const cudaResourceDesc& resource, const cudaTextureDesc& how, Texture& made) {
  made.resource = resource, made.how = how;
  if (cudaError_t error = read_resource(resource, made)) return error;
  if (!made.start || reinterpret_cast<size_t>(made.start) % kTextureAlignment) return cudaErrorInvalidValue;
  made.element = element_of(made.format), made.components = components_of(made.format);
  made.is_real = is_normalized(made) || made.format.f == cudaChannelFormatKindFloat;
  made.load = load_of(made.format, is_normalized(made));
  bool is_cube = made.shape == Shape::kCubemap || made.shape == Shape::kCubemapLayered;
  if (is_cube && !how.normalizedCoords) return cudaErrorInvalidValue;
  for (int axis = 0; axis < 3; axis++) made.modes[axis] = working(how.addressMode[axis], how.normalizedCoords);
  bool is_filtered = made.shape != Shape::kLinear && how.filterMode == cudaFilterModeLinear;
  if (is_filtered && !made.is_real) return cudaErrorInvalidFilterSetting;
  return is_served(made) ? cudaSuccess : cudaErrorNotSupported;
}

}  // namespace

Objects<Texture>& textures() {
  static auto& all = *new Objects<Texture>;
  return all;
}

const char* name_of(Shape shape) {
  static const char* const names[] = {
      "linear memory", "one dimension", "two dimensions", "three dimensions", "layers of one dimension",
      "layers of two dimensions", "a cube", "layers of cubes"};
  return names[int(shape)];
}

bool is_for(Shape wanted, Shape shape, int height) {
  return wanted == shape || (wanted == Shape::k1D && shape == Shape::k2D && height == 1);
}

}  // namespace morph_cuda

using namespace morph_cuda;

extern "C" {
cudaError_t cudaCreateTextureObject(cudaTextureObject_t* texture, const cudaResourceDesc* resource,
                                    const cudaTextureDesc* how, const cudaResourceViewDesc* view) {
  if (lasting()) return lasting();
  if (!texture || !resource || !how) return remembered(cudaErrorInvalidValue);
  if (view) return remembered(cudaErrorNotSupported);
  Texture made{};
  if (cudaError_t error = make(*resource, *how, made)) return remembered(error);
  *texture = textures().add(made);
  return *texture ? cudaSuccess : remembered(cudaErrorMemoryAllocation);
}
cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texture) {
  return !texture || textures().remove(texture) ? cudaSuccess : remembered(cudaErrorInvalidValue);
}
cudaError_t cudaGetTextureObjectResourceDesc(cudaResourceDesc* resource, cudaTextureObject_t texture) {
  const Texture* found = textures().find(texture);
  if (!found || !resource) return remembered(cudaErrorInvalidValue);
  return *resource = found->resource, cudaSuccess;
}
cudaError_t cudaGetTextureObjectTextureDesc(cudaTextureDesc* how, cudaTextureObject_t texture) {
  const Texture* found = textures().find(texture);
  if (!found || !how) return remembered(cudaErrorInvalidValue);
  return *how = found->how, cudaSuccess;
}
cudaError_t cudaDeviceGetTexture1DLinearMaxWidth(size_t* width, const cudaChannelFormatDesc* format, int) {
  if (!width || !format || !element_of(*format)) return remembered(cudaErrorInvalidValue);
  return *width = size_t(texture_limit(cudaDevAttrMaxTexture1DLinearWidth)), cudaSuccess;
}
}
