// What kernels read of textures, and read and write of surfaces (CUDA C++ Programming Guide, "Texture Functions" and
// "Surface Functions").
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>

#include "morph/arrays.h"

namespace morph_cuda {

enum class Shape : unsigned char { kLinear, k1D, k2D, k3D, k1DLayered, k2DLayered, kCubemap, kCubemapLayered };
union Texel {
  float reals[4];
  int integers[4];
};
// What a function expects of a texture.
struct Wanted {
  const char* function;
  Shape shape;
  bool is_real;
  unsigned char components, bytes;  // of one component
};
struct Point {
  float x, y = 0, z = 0;
  int layer = 0;
};
Texel fetch(cudaTextureObject_t texture, Wanted wanted, Point at);
Texel fetch_linear(cudaTextureObject_t texture, Wanted wanted, int index);
Texel gather(cudaTextureObject_t texture, Wanted wanted, Point at, int component);
// Of `bytes` bytes in a surface; null: beyond its bounds. `x` counts bytes.
void* place_in(cudaSurfaceObject_t surface, const char* function, Shape shape, cudaSurfaceBoundaryMode mode,
               size_t bytes, int x, int y, int z);

template <class T>
constexpr size_t accessed_bytes() {
  static_assert(sizeof(T) <= 16 && (sizeof(T) & (sizeof(T) - 1)) == 0, "CUDA has no surfaces of this type");
  return sizeof(T);
}
template <class T>
struct Fetched {
  using All = Parts<T>;
  using Part = typename All::type;
  static_assert(All::is_fetched, "CUDA has no textures of this type");
  static constexpr Wanted wanted(const char* function, Shape shape) {
    return {function, shape, All::is_real, All::count, sizeof(Part)};
  }
  explicit Fetched(const Texel& texel) {
    Part parts[All::count];
    for (size_t i = 0; i < All::count; i++) parts[i] = All::is_real ? Part(texel.reals[i]) : Part(texel.integers[i]);
    std::memcpy(&value, parts, sizeof value);
  }
  T value;
};

}  // namespace morph_cuda

// A function in its two forms: `T value = tex2D<T>(texture, x, y)` and `tex2D(&value, texture, x, y)`.
#define MORPH_LIST(...) __VA_ARGS__
#define MORPH_TEXTURE(NAME, PARAMETERS, FETCH, SHAPE, ...)                                                             \
  template <class T>                                                                                                   \
  inline T NAME(cudaTextureObject_t texture, MORPH_LIST PARAMETERS) {                                                  \
    return morph_cuda::Fetched<T>(morph_cuda::FETCH(                                                                   \
        texture, morph_cuda::Fetched<T>::wanted(#NAME, morph_cuda::Shape::SHAPE), __VA_ARGS__)).value;                 \
  }                                                                                                                    \
  template <class T>                                                                                                   \
  inline void NAME(T* value, cudaTextureObject_t texture, MORPH_LIST PARAMETERS) {                                     \
    *value = morph_cuda::Fetched<T>(morph_cuda::FETCH(                                                                 \
        texture, morph_cuda::Fetched<T>::wanted(#NAME, morph_cuda::Shape::SHAPE), __VA_ARGS__)).value;                 \
  }
// There is one level, so what chooses among levels changes nothing.
#define MORPH_TEXTURES(NAME, SHAPE, GRADIENT, PARAMETERS, ...)                                                         \
  MORPH_TEXTURE(NAME, PARAMETERS, fetch, SHAPE, morph_cuda::Point{__VA_ARGS__})                                        \
  MORPH_TEXTURE(NAME##Lod, (MORPH_LIST PARAMETERS, float), fetch, SHAPE, morph_cuda::Point{__VA_ARGS__})               \
  MORPH_TEXTURE(NAME##Grad, (MORPH_LIST PARAMETERS, GRADIENT, GRADIENT), fetch, SHAPE, morph_cuda::Point{__VA_ARGS__})
MORPH_TEXTURE(tex1Dfetch, (int index), fetch_linear, kLinear, index)
MORPH_TEXTURES(tex1D, k1D, float, (float x), x)
MORPH_TEXTURES(tex2D, k2D, float2, (float x, float y), x, y)
MORPH_TEXTURES(tex3D, k3D, float4, (float x, float y, float z), x, y, z)
MORPH_TEXTURES(tex1DLayered, k1DLayered, float, (float x, int layer), x, 0, 0, layer)
MORPH_TEXTURES(tex2DLayered, k2DLayered, float2, (float x, float y, int layer), x, y, 0, layer)
MORPH_TEXTURES(texCubemap, kCubemap, float4, (float x, float y, float z), x, y, z)
MORPH_TEXTURES(texCubemapLayered, kCubemapLayered, float4, (float x, float y, float z, int layer), x, y, z, layer)
MORPH_TEXTURE(tex2Dgather, (float x, float y, int component = 0), gather, k2D, morph_cuda::Point{x, y}, component)
#undef MORPH_TEXTURES
#undef MORPH_TEXTURE

#define MORPH_SURFACE(NAME, SHAPE, PARAMETERS, GIVEN, ...)                                                             \
  template <class T>                                                                                                   \
  inline void NAME##read(T* value, cudaSurfaceObject_t surface, MORPH_LIST PARAMETERS,                                 \
                         cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {                                        \
    const void* place =                                                                                                \
        morph_cuda::place_in(surface, #NAME "read", morph_cuda::Shape::SHAPE, mode,                                    \
                               morph_cuda::accessed_bytes<T>(), __VA_ARGS__);                                          \
    if (place) std::memcpy(value, place, sizeof(T));                                                                   \
    else *value = {};                                                                                                  \
  }                                                                                                                    \
  template <class T>                                                                                                   \
  inline T NAME##read(cudaSurfaceObject_t surface, MORPH_LIST PARAMETERS,                                              \
                      cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {                                           \
    T value;                                                                                                           \
    NAME##read(&value, surface, MORPH_LIST GIVEN, mode);                                                               \
    return value;                                                                                                      \
  }                                                                                                                    \
  template <class T>                                                                                                   \
  inline void NAME##write(T value, cudaSurfaceObject_t surface, MORPH_LIST PARAMETERS,                                 \
                          cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {                                       \
    void* place =                                                                                                      \
        morph_cuda::place_in(surface, #NAME "write", morph_cuda::Shape::SHAPE, mode,                                   \
                               morph_cuda::accessed_bytes<T>(), __VA_ARGS__);                                          \
    if (place) std::memcpy(place, &value, sizeof(T));                                                                  \
  }
MORPH_SURFACE(surf1D, k1D, (int x), (x), x, 0, 0)
MORPH_SURFACE(surf2D, k2D, (int x, int y), (x, y), x, y, 0)
MORPH_SURFACE(surf3D, k3D, (int x, int y, int z), (x, y, z), x, y, z)
MORPH_SURFACE(surf1DLayered, k1DLayered, (int x, int layer), (x, layer), x, 0, layer)
MORPH_SURFACE(surf2DLayered, k2DLayered, (int x, int y, int layer), (x, y, layer), x, y, layer)
MORPH_SURFACE(surfCubemap, kCubemap, (int x, int y, int face), (x, y, face), x, y, face)
MORPH_SURFACE(surfCubemapLayered, kCubemapLayered, (int x, int y, int layer_face), (x, y, layer_face), x, y, layer_face)
#undef MORPH_SURFACE
#undef MORPH_LIST
