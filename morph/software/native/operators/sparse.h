// Sparse arguments and results of a call.
#pragma once

#include <ATen/core/Tensor.h>

namespace software {

at::Tensor sparse_host_view(const at::Tensor& tensor);
at::Tensor sparse_to_device(const at::Tensor& host, c10::Device target);
void write_back_sparse(const at::Tensor& mine, const at::Tensor& host);  // after an in-place operator

}  // namespace software
