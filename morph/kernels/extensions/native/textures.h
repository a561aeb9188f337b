// A texture as kernels read it.
#pragma once

#include "arrays.h"
#include "objects.h"

#include <string>

namespace morph_cuda {

using Load = void (*)(const void* element, int components, Texel& all);

struct Texture {
  cudaResourceDesc resource;
  cudaTextureDesc how;
  cudaChannelFormatDesc format;
  const char* start;  // null: its array was freed
  Shape shape;
  int size[3], layers, components;
  size_t pitch, slice, element;
  bool is_real, is_gathered;
  cudaTextureAddressMode modes[3];  // as they work
  Load load;
};

Objects<Texture>& textures();
Load load_of(const cudaChannelFormatDesc& format, bool is_normalized);
const char* name_of(Shape shape);
// Whether functions for one shape take what has the other: a line of texels is an array whose height is 1, too.
bool is_for(Shape wanted, Shape shape, int height);
// Ends the block where a kernel asks for what is not there.
[[noreturn]] void refuse_access(const std::string& what, const void* site);

}  // namespace morph_cuda
