// Tensor.cuda, is_cuda, type and get_device, replaced in torch's C tables.
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
MethodReplacement<PyCFunctionWithKeywords> torch_type_of;
MethodReplacement<PyCFunction> torch_get_device;
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
  if (named.type() != target()) return nullptr;
  return THPDevice_New(Device(DeviceType::CUDA, c10::DeviceIndex(numbered_by_cuda(named))));
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

// "torch.npu.FloatTensor" is "torch.cuda.FloatTensor" to code that sees CUDA.
PyObject* type_of(PyObject* self, PyObject* args, PyObject* kwargs) {
  py::object answer = py::reinterpret_steal<py::object>(torch_type_of.torchs(self, args, kwargs));
  if (!answer || !PyUnicode_Check(answer.ptr()) || !is_target(tensor(self).device()) || !is_asked_for_cuda())
    return answer.release().ptr();
  std::string text = answer.cast<std::string>();
  std::string vendors = "torch." + c10::DeviceTypeName(target(), /*lower_case=*/true) + ".";
  if (text.rfind(vendors, 0) != 0) return answer.release().ptr();
  return py::str("torch.cuda." + text.substr(vendors.size())).release().ptr();
}

PyObject* get_device(PyObject* self, PyObject* args) {
  PyObject* answer = torch_get_device.torchs(self, args);
  if (answer == nullptr || !PyLong_Check(answer) || is_overridden(self)) return answer;
  Device device = tensor(self).device();
  int number = is_target(device) ? numbered_by_cuda(device) : device.index();
  if (number == device.index() || !is_asked_for_cuda()) return answer;
  Py_DECREF(answer);
  return PyLong_FromLong(number);
}

}  // namespace

void engage_tensor_methods() {
  py::object base = py::module_::import("torch._C").attr("TensorBase");
  auto* type = reinterpret_cast<PyTypeObject*>(base.ptr());
  torch_cuda.put(type, "cuda", cuda);
  torch_is_cuda.put(type, "is_cuda", is_cuda);
  torch_type_of.put(type, "type", type_of);
  torch_get_device.put(type, "get_device", get_device);
}

void disengage_tensor_methods() {
  torch_get_device.restore();
  torch_type_of.restore();
  torch_is_cuda.restore();
  torch_cuda.restore();
}

}  // namespace seam
