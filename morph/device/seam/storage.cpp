// torch.UntypedStorage(4, device="cuda"): a storage calls an allocator directly, without the dispatcher.
#include "replacement.h"
#include "seam.h"

#include <torch/csrc/Device.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/utils/pybind.h>

namespace seam {
namespace {

SlotReplacement<newfunc> torch_storage_new;

// StorageBase cannot be instantiated, and this class has a copy of its slot.
PyTypeObject* storage_type() {
  return reinterpret_cast<PyTypeObject*>(py::module_::import("torch.storage").attr("UntypedStorage").ptr());
}

py::object target_device(PyObject* device) {
  auto named = py::reinterpret_steal<py::object>(
      PyObject_CallOneArg(reinterpret_cast<PyObject*>(&THPDeviceType), device));
  if (!named) throw python_error();
  return py::reinterpret_steal<py::object>(
      THPDevice_New(translate(reinterpret_cast<THPDevice*>(named.ptr())->device)));
}

PyObject* new_storage(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  PyObject* device = kwargs ? PyDict_GetItemString(kwargs, "device") : nullptr;
  if (device == nullptr || device == Py_None) return torch_storage_new.torchs(type, args, kwargs);
  HANDLE_TH_ERRORS
  py::object named = target_device(device);
  auto changed = py::reinterpret_steal<py::object>(PyDict_Copy(kwargs));
  PyDict_SetItemString(changed.ptr(), "device", named.ptr());
  return torch_storage_new.torchs(type, args, changed.ptr());
  END_HANDLE_TH_ERRORS
}

}  // namespace

void engage_storage() { torch_storage_new.put(&storage_type()->tp_new, new_storage); }
void disengage_storage() { torch_storage_new.restore(); }

}  // namespace seam
