// Tensor.cuda and Tensor.is_cuda, replaced in torch's C tables.
#include "replacement.h"
#include "seam.h"

#include <ATen/PythonTorchFunctionTLS.h>
#include <torch/csrc/Device.h>
#include <torch/csrc/autograd/python_variable.h>

#include <limits>

namespace seam {
namespace {

using c10::Device;
using c10::DeviceType;

MethodReplacement<PyCFunctionWithKeywords> torch_cuda;
GetterReplacement torch_is_cuda;

const at::Tensor& tensor(PyObject* self) { return THPVariable_Unpack(self); }

bool asks_python(PyObject* self) {
  static PyObject* has_torch_function =
      PyObject_GetAttrString(PyImport_AddModule("torch._C"), "_has_torch_function_unary");
  py::object answer = py::reinterpret_steal<py::object>(PyObject_CallOneArg(has_torch_function, self));
  return answer.ptr() == Py_True;
}

// Whether a __torch_function__ must be called first; torch's own function does that.
bool is_overridden(PyObject* self) {
  return THPVariable_CheckExact(self) ? at::impl::torch_function_mode_enabled() : asks_python(self);
}

bool is_target(Device device) { return device.type() == target() || device.is_cuda(); }

PyObject* is_cuda(PyObject* self, void* closure) {
  if (is_overridden(self)) return torch_is_cuda.torchs(self, closure);
  HANDLE_TH_ERRORS
  return PyBool_FromLong(is_target(tensor(self).device()));
  END_HANDLE_TH_ERRORS
}

// torch accepts only a CUDA device here: an integer would mean the accelerator, and torch.device("cuda") the target.
PyObject* as_cuda(PyObject* device) {
  if (PyLong_Check(device) && !PyBool_Check(device)) {
    int overflow = 0;
    long index = PyLong_AsLongAndOverflow(device, &overflow);
    if (overflow != 0 || index < 0) return nullptr;  // torch has an error of its own
    TORCH_CHECK(index <= std::numeric_limits<c10::DeviceIndex>::max(), "cuda:", index, ": the device does not exist");
    return THPDevice_New(Device(DeviceType::CUDA, static_cast<c10::DeviceIndex>(index)));
  }
  if (!THPDevice_Check(device)) return nullptr;
  Device named = reinterpret_cast<THPDevice*>(device)->device;
  return named.type() == target() ? THPDevice_New(Device(DeviceType::CUDA, named.index())) : nullptr;
}

PyObject* with_first(PyObject* args, PyObject* first) {
  Py_ssize_t size = PyTuple_GET_SIZE(args);
  PyObject* changed = PyTuple_New(size);
  for (Py_ssize_t i = 0; i < size; ++i)
    PyTuple_SET_ITEM(changed, i, Py_NewRef(i == 0 ? first : PyTuple_GET_ITEM(args, i)));
  return changed;
}

PyObject* cuda(PyObject* self, PyObject* args, PyObject* kwargs) {
  bool positional = PyTuple_GET_SIZE(args) > 0;
  PyObject* device = positional ? PyTuple_GET_ITEM(args, 0)
                     : kwargs   ? PyDict_GetItemString(kwargs, "device")
                                : nullptr;
  if (device == nullptr || device == Py_None || is_overridden(self)) return torch_cuda.torchs(self, args, kwargs);
  HANDLE_TH_ERRORS
  auto named = py::reinterpret_steal<py::object>(as_cuda(device));
  if (!named) return torch_cuda.torchs(self, args, kwargs);
  if (positional) {
    auto changed = py::reinterpret_steal<py::object>(with_first(args, named.ptr()));
    return torch_cuda.torchs(self, changed.ptr(), kwargs);
  }
  auto changed = py::reinterpret_steal<py::object>(PyDict_Copy(kwargs));
  PyDict_SetItemString(changed.ptr(), "device", named.ptr());
  return torch_cuda.torchs(self, args, changed.ptr());
  END_HANDLE_TH_ERRORS
}

}  // namespace

void engage_tensor_methods() {
  py::object base = py::module_::import("torch._C").attr("TensorBase");
  auto* type = reinterpret_cast<PyTypeObject*>(base.ptr());
  torch_cuda.put(type, "cuda", cuda);
  torch_is_cuda.put(type, "is_cuda", is_cuda);
}

void disengage_tensor_methods() {
  torch_is_cuda.restore();
  torch_cuda.restore();
}

}  // namespace seam
