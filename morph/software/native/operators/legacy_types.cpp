// torch.cuda.FloatTensor and the like exist in every torch. In one built without CUDA, a flag in each
// keeps it from creating a tensor and from being the default type.
#include "operators/operators.h"

#include <Python.h>
#include <c10/util/Exception.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/tensor/python_tensor.h>

#include <cstring>
#include <string_view>

namespace software {
namespace {

// The layout of a private struct in torch/csrc/tensor/python_tensor.cpp.
struct TensorType {
  PyTypeObject type;
  void* dtype;
  void* layout;
  bool is_cuda, is_xpu;
  char name[64];
};

newfunc torchs = nullptr;

TensorType& tensor_type(void* address) {
  auto* type = static_cast<TensorType*>(address);
  std::string_view name(type->name, strnlen(type->name, sizeof type->name));
  TORCH_CHECK(name.rfind("torch.cuda.", 0) == 0 && name == type->type.tp_name, "not a type of CUDA's tensors");
  return *type;
}

class Unflagged {
 public:
  explicit Unflagged(TensorType& type) : type_(type) { type_.is_cuda = false; }
  ~Unflagged() { type_.is_cuda = true; }

 private:
  TensorType& type_;
};

PyObject* make(PyTypeObject* type, PyObject* arguments, PyObject* options) {
  HANDLE_TH_ERRORS
  TORCH_WARN_ONCE("The torch.cuda.*DtypeTensor constructors are no longer recommended. It's best to use methods such as "
                  "torch.tensor(data, dtype=*, device='cuda') to create tensors.");
  Unflagged meanwhile(*reinterpret_cast<TensorType*>(type));
  return torchs(type, arguments, options);
  END_HANDLE_TH_ERRORS
}

}  // namespace

void allow_tensor_types(bool allowed, const std::vector<void*>& types) {
  for (void* each : types) {
    PyTypeObject& type = tensor_type(each).type;
    if (!torchs) torchs = type.tp_new;
    type.tp_new = allowed ? &make : torchs;
  }
}

void set_default_tensor_type(void* type) {
  torch::PyWarningHandler handler;
  TORCH_WARN_ONCE("torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use torch.set_default_dtype() "
                  "and torch.set_default_device() as alternatives.");
  Unflagged meanwhile(tensor_type(type));
  torch::tensors::py_set_default_tensor_type(static_cast<PyObject*>(type));
}

}  // namespace software
