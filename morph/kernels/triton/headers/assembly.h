// The registers of inline assembly, and the elements that they hold.
#pragma once
#include "kernel.h"
#include "ptx.h"

template <class T>
auto register_of(T element) {
  return bits<morph_ptx::Bits<T>>(element);
}

template <class T>
T element_of(uint64_t bits_of_register) {
  return bits<T>(morph_ptx::Bits<T>(bits_of_register));
}
