// CUDA's arrays: their elements lie row after row, slice after slice, without gaps.
#pragma once

#include "copies.h"
#include "morph/arrays.h"
#include "morph/textures.h"

struct cudaArray {
  cudaChannelFormatDesc format;
  cudaExtent extent;  // as it was asked for
  unsigned flags;
  char* start;

  size_t element() const;
  size_t rows() const { return extent.height ? extent.height : 1; }
  size_t slices() const { return extent.depth ? extent.depth : 1; }  // or layers, or faces
  size_t pitch() const { return extent.width * element(); }
  morph_cuda::Shape shape() const;
};

namespace morph_cuda {

size_t element_of(const cudaChannelFormatDesc& format);  // bytes; 0: there are no such elements
int components_of(const cudaChannelFormatDesc& format);
bool is_live(cudaArray_const_t array);
constexpr int kTextureAlignment = 512, kPitchAlignment = 32;  // bytes
int texture_limit(cudaDeviceAttr which);  // 0: it is none of textures or surfaces
void tell_texture_limits(cudaDeviceProp& properties);
void forget_objects_of(cudaArray_const_t array);  // what they read and write is no more
// A box of an array's elements from a place on.
cudaError_t box_of(cudaArray_const_t array, const cudaPos& bytes, const cudaExtent& size, Box& box);

}  // namespace morph_cuda
