// Sparse arguments and results of a call.
#pragma once

#include <ATen/core/Tensor.h>

namespace software {

at::Tensor sparse_host_view(const at::Tensor& tensor);
at::Tensor sparse_to_device(const at::Tensor& host, c10::Device target);
void adopt(const at::Tensor& mine, const at::Tensor& other);  // the parts of another sparse tensor of the same layout
void install_sparse_kernels();       // sparse_kernels.cpp: after those of sparse.cpp
void install_compressed_products();  // sparse_products.cpp
void write_back_sparse(const at::Tensor& mine, const at::Tensor& host);  // after an in-place operator

}  // namespace software
