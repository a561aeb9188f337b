// How large textures and surfaces can be from compute capability 7.0 on (CUDA C++ Programming Guide, "Technical
// Specifications per Compute Capability").
#include "arrays.h"

#include <cstddef>
#include <cstring>

namespace morph_cuda {
namespace {

struct Limit {
  cudaDeviceAttr which;
  int value;
  size_t place;  // in the device's properties
};
#define PLACE(MEMBER) offsetof(cudaDeviceProp, MEMBER)
const Limit kLimits[] = {
    {cudaDevAttrMaxTexture1DWidth, 131072, PLACE(maxTexture1D)},
    {cudaDevAttrMaxTexture1DMipmappedWidth, 32768, PLACE(maxTexture1DMipmap)},
    {cudaDevAttrMaxTexture1DLinearWidth, 1 << 28, PLACE(maxTexture1DLinear)},
    {cudaDevAttrMaxTexture2DWidth, 131072, PLACE(maxTexture2D[0])},
    {cudaDevAttrMaxTexture2DHeight, 65536, PLACE(maxTexture2D[1])},
    {cudaDevAttrMaxTexture2DMipmappedWidth, 32768, PLACE(maxTexture2DMipmap[0])},
    {cudaDevAttrMaxTexture2DMipmappedHeight, 32768, PLACE(maxTexture2DMipmap[1])},
    {cudaDevAttrMaxTexture2DLinearWidth, 131072, PLACE(maxTexture2DLinear[0])},
    {cudaDevAttrMaxTexture2DLinearHeight, 65000, PLACE(maxTexture2DLinear[1])},
    {cudaDevAttrMaxTexture2DLinearPitch, 2097120, PLACE(maxTexture2DLinear[2])},
    {cudaDevAttrMaxTexture2DGatherWidth, 32768, PLACE(maxTexture2DGather[0])},
    {cudaDevAttrMaxTexture2DGatherHeight, 32768, PLACE(maxTexture2DGather[1])},
    {cudaDevAttrMaxTexture3DWidth, 16384, PLACE(maxTexture3D[0])},
    {cudaDevAttrMaxTexture3DHeight, 16384, PLACE(maxTexture3D[1])},
    {cudaDevAttrMaxTexture3DDepth, 16384, PLACE(maxTexture3D[2])},
    {cudaDevAttrMaxTexture3DWidthAlt, 8192, PLACE(maxTexture3DAlt[0])},
    {cudaDevAttrMaxTexture3DHeightAlt, 8192, PLACE(maxTexture3DAlt[1])},
    {cudaDevAttrMaxTexture3DDepthAlt, 32768, PLACE(maxTexture3DAlt[2])},
    {cudaDevAttrMaxTextureCubemapWidth, 32768, PLACE(maxTextureCubemap)},
    {cudaDevAttrMaxTexture1DLayeredWidth, 32768, PLACE(maxTexture1DLayered[0])},
    {cudaDevAttrMaxTexture1DLayeredLayers, 2048, PLACE(maxTexture1DLayered[1])},
    {cudaDevAttrMaxTexture2DLayeredWidth, 32768, PLACE(maxTexture2DLayered[0])},
    {cudaDevAttrMaxTexture2DLayeredHeight, 32768, PLACE(maxTexture2DLayered[1])},
    {cudaDevAttrMaxTexture2DLayeredLayers, 2048, PLACE(maxTexture2DLayered[2])},
    {cudaDevAttrMaxTextureCubemapLayeredWidth, 32768, PLACE(maxTextureCubemapLayered[0])},
    {cudaDevAttrMaxTextureCubemapLayeredLayers, 2046, PLACE(maxTextureCubemapLayered[1])},
    {cudaDevAttrMaxSurface1DWidth, 32768, PLACE(maxSurface1D)},
    {cudaDevAttrMaxSurface2DWidth, 131072, PLACE(maxSurface2D[0])},
    {cudaDevAttrMaxSurface2DHeight, 65536, PLACE(maxSurface2D[1])},
    {cudaDevAttrMaxSurface3DWidth, 16384, PLACE(maxSurface3D[0])},
    {cudaDevAttrMaxSurface3DHeight, 16384, PLACE(maxSurface3D[1])},
    {cudaDevAttrMaxSurface3DDepth, 16384, PLACE(maxSurface3D[2])},
    {cudaDevAttrMaxSurfaceCubemapWidth, 32768, PLACE(maxSurfaceCubemap)},
    {cudaDevAttrMaxSurface1DLayeredWidth, 32768, PLACE(maxSurface1DLayered[0])},
    {cudaDevAttrMaxSurface1DLayeredLayers, 2048, PLACE(maxSurface1DLayered[1])},
    {cudaDevAttrMaxSurface2DLayeredWidth, 32768, PLACE(maxSurface2DLayered[0])},
    {cudaDevAttrMaxSurface2DLayeredHeight, 32768, PLACE(maxSurface2DLayered[1])},
    {cudaDevAttrMaxSurface2DLayeredLayers, 2048, PLACE(maxSurface2DLayered[2])},
    {cudaDevAttrMaxSurfaceCubemapLayeredWidth, 32768, PLACE(maxSurfaceCubemapLayered[0])},
    {cudaDevAttrMaxSurfaceCubemapLayeredLayers, 2046, PLACE(maxSurfaceCubemapLayered[1])},
};
#undef PLACE

}  // namespace

int texture_limit(cudaDeviceAttr which) {
  if (which == cudaDevAttrTextureAlignment) return kTextureAlignment;
  if (which == cudaDevAttrTexturePitchAlignment) return kPitchAlignment;
  if (which == cudaDevAttrSurfaceAlignment) return kTextureAlignment;
  for (const Limit& each : kLimits)
    if (each.which == which) return each.value;
  return 0;
}

void tell_texture_limits(cudaDeviceProp& properties) {
  properties.textureAlignment = properties.surfaceAlignment = kTextureAlignment;
  properties.texturePitchAlignment = kPitchAlignment;
  char* start = reinterpret_cast<char*>(&properties);
  for (const Limit& each : kLimits) std::memcpy(start + each.place, &each.value, sizeof each.value);
}

}  // namespace morph_cuda
