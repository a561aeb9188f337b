// Numbers that a program puts beside tensors, which torch wraps in tensors of the host.
#pragma once

#include <ATen/core/Tensor.h>

namespace software {

// The wrapped number in another type, or as it is where that could change a result.
at::Tensor number_as(const at::Tensor& number, c10::ScalarType type);

}  // namespace software
