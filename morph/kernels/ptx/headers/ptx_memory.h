// Loads and stores of PTX, of one register or several that lie side by side (PTX ISA 9.0, "ld", "st").
#pragma once

#include "ptx_numbers.h"

#include <cstring>

namespace morph_ptx {

template <class T, int count>
struct Vector {
  T parts[count];
  T operator[](int place) const { return parts[place]; }
};

// A single word is read and written in one step.
template <class T, int count>
Vector<T, count> load(const unsigned char* from) {
  Vector<T, count> all;
  if constexpr (count == 1) all.parts[0] = __atomic_load_n(reinterpret_cast<const T*>(from), __ATOMIC_ACQUIRE);
  else std::memcpy(all.parts, from, sizeof all.parts);
  return all;
}
template <class T, int count>
void store(unsigned char* to, const Vector<T, count>& all) {
  if constexpr (count == 1) __atomic_store_n(reinterpret_cast<T*>(to), all.parts[0], __ATOMIC_RELEASE);
  else std::memcpy(to, all.parts, sizeof all.parts);
}

}  // namespace morph_ptx
