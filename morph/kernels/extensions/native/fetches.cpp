// What kernels read of textures: the formulas of the CUDA C++ Programming Guide's "Texture Fetching", computed in double
// and rounded once. The weights of linear filtering have 8 bits after the point, to the nearest: with weights that were
// cut off, cuda-samples' HSOpticalFlow ends five times as far from what GPUs make of it.
#include "textures.h"

#include "block.h"
#include "sanitizer/watcher.h"

#include <c10/util/Half.h>
#include <c10/util/StringUtil.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace morph_cuda {
namespace {

constexpr int kOutside = -1;

template <class T>
T component(const void* element, int i) {
  T value;
  std::memcpy(&value, static_cast<const char*>(element) + size_t(i) * sizeof(T), sizeof value);
  return value;
}
template <class T>
void load(const void* element, int components, Texel& all) {
  for (int i = 0; i < components; i++) {
    if constexpr (std::is_integral_v<T>) all.integers[i] = int(component<T>(element, i));
    else all.reals[i] = float(component<T>(element, i));
  }
}
template <class T>
void load_normalized(const void* element, int components, Texel& all) {
  for (int i = 0; i < components; i++)
    all.reals[i] = std::max(float(component<T>(element, i)) / float(std::numeric_limits<T>::max()), -1.f);
}

// Where a coordinate leads along an axis: to texels and their weights.
struct Way {
  int texels[2];
  double weights[2];
};

int addressed(int i, int size, cudaTextureAddressMode mode) {
  if (mode == cudaAddressModeWrap) return i < 0 ? i + size : i < size ? i : i - size;
  if (mode == cudaAddressModeBorder && (i < 0 || i >= size)) return kOutside;
  return std::clamp(i, 0, size - 1);
}

double floor_of(double x) {  // of a number, where the C library's is called
  const double whole = std::fabs(x) < 1e18 ? double(int64_t(x)) : x;
  return whole > x ? whole - 1 : whole;
}

// In texels, and at most one beyond either end: further out nothing changes.
double placed(double x, int size, cudaTextureAddressMode mode, bool is_normalized) {
  if (is_normalized) {
    const double whole = floor_of(x), rest = x - whole;
    if (mode == cudaAddressModeWrap) x = rest;
    if (mode == cudaAddressModeMirror) x = std::fmod(whole, 2) == 0 ? rest : 1 - rest;
    x *= size;
  }
  return x >= -1 ? std::min(x, double(size + 1)) : -1;  // what is no number, too
}

Way nearest(double x, int size, cudaTextureAddressMode mode) {
  return {{addressed(int(floor_of(x)), size, mode), kOutside}, {1, 0}};
}
Way between(double x, int size, cudaTextureAddressMode mode) {
  const double before = floor_of(x - 0.5), weight = floor_of((x - 0.5 - before) * 256 + 0.5) / 256;
  const int i = int(before);
  return {{addressed(i, size, mode), addressed(i + 1, size, mode)}, {1 - weight, weight}};
}

class Fetch {
 public:
  Fetch(const Texture& texture, int axes, const void* site) : texture_(texture), axes_(axes), site_(site) {}

  Texel at(const double (&point)[3], int layer) const {
    const bool is_linear = texture_.how.filterMode == cudaFilterModeLinear;
    Way ways[3] = {{{0, 0}, {1, 0}}, {{0, 0}, {1, 0}}, {{layer, layer}, {1, 0}}};
    for (int axis = 0; axis < axes_; axis++) ways[axis] = way(axis, point[axis], is_linear);
    return is_linear ? filtered(ways) : texel(ways[0].texels[0], ways[1].texels[0], ways[2].texels[0]);
  }
  // The four that linear filtering would be of, of one component: counter-clockwise from the lower left.
  Texel gathered(const double (&point)[3], int component) const {
    const Way x = way(0, point[0], true), y = way(1, point[1], true);
    const int corners[4][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};
    Texel all;
    for (int i = 0; i < 4; i++)
      all.integers[i] = texel(x.texels[corners[i][0]], y.texels[corners[i][1]], 0).integers[component];
    return all;
  }
  Texel texel(int x, int y, int z) const {
    Texel all{};
    read(x, y, z, all);
    return all;
  }

 private:
  Way way(int axis, double x, bool is_linear) const {
    const int size = texture_.size[axis];
    const cudaTextureAddressMode mode = texture_.modes[axis];
    x = placed(x, size, mode, texture_.how.normalizedCoords);
    return is_linear ? between(x, size, mode) : nearest(x, size, mode);
  }
  Texel filtered(const Way (&ways)[3]) const {
    double sums[4] = {};
    for (int corner = 0; corner < 1 << axes_; corner++) {
      const int x = corner & 1, y = corner >> 1 & 1, z = corner >> 2;
      const double weight = ways[0].weights[x] * ways[1].weights[y] * ways[2].weights[z];
      if (weight == 0) continue;
      Texel found;
      read(ways[0].texels[x], ways[1].texels[y], ways[2].texels[z], found);
      for (int i = 0; i < texture_.components; i++) sums[i] += weight * double(found.reals[i]);
    }
    return {{float(sums[0]), float(sums[1]), float(sums[2]), float(sums[3])}};
  }
  void read(int x, int y, int z, Texel& all) const {
    if (x == kOutside || y == kOutside || z == kOutside) {
      if (texture_.is_real) std::copy_n(texture_.how.borderColor, 4, all.reals);
      return;
    }
    const char* row = texture_.start + size_t(z) * texture_.slice + size_t(y) * texture_.pitch;
    const char* place = row + size_t(x) * texture_.element;
    if (sanitizer::active) sanitizer::note_use(place, texture_.element, false, site_);
    texture_.load(place, texture_.components, all);
  }

  const Texture& texture_;
  const int axes_;
  const void* const site_;
};

int axes_of(Shape shape) {
  if (shape == Shape::k3D) return 3;
  return shape == Shape::kLinear || shape == Shape::k1D || shape == Shape::k1DLayered ? 1 : 2;
}

std::string text_of(const Texture& texture) {
  static const char* const kinds[] = {"int", "uint", "float"};
  const char* read = texture.is_real && texture.format.f != cudaChannelFormatKindFloat ? ", read as floats" : "";
  return c10::str(kinds[texture.format.f], texture.format.x, "x", texture.components, read);
}

const Texture& found_for(cudaTextureObject_t handle, const Wanted& wanted, const void* site) {
  const Texture* found = textures().find(handle);
  if (!found) refuse_access(c10::str(wanted.function, ": there is no texture object ", handle), site);
  if (!found->start) refuse_access(c10::str(wanted.function, ": the texture's array was freed"), site);
  if (!is_for(wanted.shape, found->shape, found->size[1]))
    refuse_access(c10::str(wanted.function, ": the texture is of ", name_of(found->shape)), site);
  return *found;
}

void check_type(const Texture& texture, const Wanted& wanted, int components, const void* site) {
  bool fits = wanted.is_real == texture.is_real && (texture.is_real || wanted.bytes * 8 >= texture.format.x);
  if (fits && components <= texture.components) return;
  std::string asked = c10::str(wanted.is_real ? "float" : "int", wanted.bytes * 8, "x", components);
  refuse_access(c10::str(wanted.function, " of ", asked, ": the texture is of ", text_of(texture)), site);
}

void check_layer(const Texture& texture, const Wanted& wanted, int layer, int faces, const void* site) {
  const int layers = texture.layers / faces;
  bool has_layers = texture.shape != Shape::k3D;
  if (has_layers && (layer < 0 || layer >= layers))
    refuse_access(c10::str(wanted.function, ": the layer ", layer, " of ", layers), site);
}

// A direction as the face that it meets, and where ("Cubemap Textures"). Of two faces at an edge the first is taken.
struct Met {
  int face;
  double s, t;
};
Met face_of(double x, double y, double z) {
  const double wide = std::fabs(x), high = std::fabs(y), most = std::fmax(std::fmax(wide, high), std::fabs(z));
  auto met = [most](int face, double s, double t) { return Met{face, (s / most + 1) / 2, (t / most + 1) / 2}; };
  if (wide == most) return x >= 0 ? met(0, -z, -y) : met(1, z, -y);
  if (high == most) return y >= 0 ? met(2, x, z) : met(3, x, -z);
  return z >= 0 ? met(4, x, -y) : met(5, -x, -y);
}

}  // namespace

Load load_of(const cudaChannelFormatDesc& format, bool is_normalized) {
  const bool is_signed = format.f == cudaChannelFormatKindSigned;
  if (format.f == cudaChannelFormatKindFloat) return format.x == 16 ? load<c10::Half> : load<float>;
  if (is_normalized && format.x == 8) return is_signed ? load_normalized<int8_t> : load_normalized<uint8_t>;
  if (is_normalized) return is_signed ? load_normalized<int16_t> : load_normalized<uint16_t>;
  if (format.x == 8) return is_signed ? load<int8_t> : load<uint8_t>;
  if (format.x == 16) return is_signed ? load<int16_t> : load<uint16_t>;
  return load<int32_t>;
}

Texel fetch(cudaTextureObject_t handle, Wanted wanted, Point at) {
  const void* site = __builtin_return_address(0);
  const Texture& texture = found_for(handle, wanted, site);
  check_type(texture, wanted, wanted.components, site);
  const bool is_cube = wanted.shape == Shape::kCubemap || wanted.shape == Shape::kCubemapLayered;
  check_layer(texture, wanted, at.layer, is_cube ? 6 : 1, site);
  const Fetch fetch(texture, axes_of(wanted.shape), site);
  if (!is_cube) return fetch.at({at.x, at.y, at.z}, at.layer);
  const Met met = face_of(at.x, at.y, at.z);
  return fetch.at({met.s, met.t, 0}, at.layer * 6 + met.face);
}

// Beyond its ends linear memory is read as zero.
Texel fetch_linear(cudaTextureObject_t handle, Wanted wanted, int index) {
  const void* site = __builtin_return_address(0);
  const Texture& texture = found_for(handle, wanted, site);
  check_type(texture, wanted, wanted.components, site);
  return index < 0 || index >= texture.size[0] ? Texel{} : Fetch(texture, 1, site).texel(index, 0, 0);
}

Texel gather(cudaTextureObject_t handle, Wanted wanted, Point at, int component) {
  const void* site = __builtin_return_address(0);
  const Texture& texture = found_for(handle, wanted, site);
  check_type(texture, wanted, 1, site);
  if (!texture.is_gathered) refuse_access("tex2Dgather: it needs an array made with cudaArrayTextureGather", site);
  if (component < 0 || component >= texture.components)
    refuse_access(c10::str("tex2Dgather: the component ", component, " of ", text_of(texture)), site);
  return Fetch(texture, 2, site).gathered({at.x, at.y, 0}, component);
}

void refuse_access(const std::string& what, const void* site) {
  if (Block* block = Block::running()) block->fail_access(cudaErrorLaunchFailure, what, site, "memory");
  throw std::runtime_error(what);
}

}  // namespace morph_cuda
