// Views of device tensors that no kernel has kept are used again, by the thread that made them: to make one and to
// destroy it takes longer than a small operator's own work.
#pragma once

#include <ATen/core/Tensor.h>

namespace software {

at::Tensor view_again(const at::Tensor& tensor);  // undefined: there is none to use
void keep_view(at::Tensor&& view);                // destroys it where anything but its place and shape is new

}  // namespace software
