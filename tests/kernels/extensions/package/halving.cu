#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <Python.h>
#include <c10/cuda/CUDAException.h>
#include <torch/library.h>

__global__ void halve(const float* in, float* out, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = in[i] / 2;
}
at::Tensor halved(const at::Tensor& in) {
  at::Tensor out = at::empty_like(in);
  halve<<<4, 32>>>(in.const_data_ptr<float>(), out.mutable_data_ptr<float>(), int(in.numel()));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return out;
}
TORCH_LIBRARY(halving, m) { m.def("halve(Tensor x) -> Tensor"); }
TORCH_LIBRARY_IMPL(halving, CUDA, m) { m.impl("halve", &halved); }
static PyModuleDef definition{PyModuleDef_HEAD_INIT, "halving", nullptr, -1, nullptr};
PyMODINIT_FUNC PyInit_halving() { return PyModule_Create(&definition); }
