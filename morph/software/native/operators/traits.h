// What tells some operators from most: which arguments they take, on the device and on CUDA.
#pragma once

#include <c10/core/ScalarType.h>

#include <string_view>

namespace software {

struct Traits {
  bool takes_host_tensors = false;  // beside device tensors, as on real devices: indices and lengths
  bool refuses_host_numbers = false;  // beside device tensors: on CUDA most operators take tensors without dimensions
  bool takes_host_element = false;    // a tensor of one element and any shape: a learning rate
  bool is_missing = false;          // CUDA has no such operator
  bool waits = false;               // the host reads what the device computed, a result's size for instance
  bool multiplies = false;          // by cuBLAS, which needs a handle
  bool has_workspace = false;       // of the CPU's kernel: other layouts, a block for each thread
  bool asserts = false;             // its kernel asserts that values are in range
  bool takes_one_type = false;      // its widened tensors have one type
  uint64_t widened = 0;             // the types that CUDA computes and the CPU's kernel does not: dtypes.cpp
  uint64_t refused = 0;             // the types that CUDA does not compute, a bit for each
  uint64_t unordered = 0;             // the types of which CUDA has no deterministic kernel
  const char* kernel = "";            // the name of that kernel

  bool watches() const { return refused | unordered; }
  bool watches(c10::ScalarType type) const { return (refused | unordered) >> int(type) & 1; }
  bool refuses(c10::ScalarType type) const { return refused >> int(type) & 1; }
  bool widens(c10::ScalarType type) const { return widened >> int(type) & 1; }
  bool is_unordered(c10::ScalarType type) const { return unordered >> int(type) & 1; }
  static const Traits& none();
};

const Traits& traits(const char* name);  // of an operator by its qualified name; as long as the process
[[noreturn]] void refuse_type(std::string_view name, c10::ScalarType type);  // that the operator's traits refuse

}  // namespace software
