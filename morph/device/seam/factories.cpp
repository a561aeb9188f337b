// torch's functions that make tensors, given a device and out=, or what asarray may return as it is: torch compares the
// two devices before it calls any kernel.
#include "replacement.h"
#include "seam.h"

#include <torch/csrc/Device.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/utils/pybind.h>

#include <array>
#include <utility>

namespace seam {
namespace {

constexpr std::array kNames{"asarray", "arange", "empty", "eye",     "full",  "linspace", "logspace", "normal",
                            "ones",    "rand",   "randn", "randint", "range", "randperm", "zeros"};
constexpr size_t kAsArray = 0;
std::array<FunctionReplacement, kNames.size()> replaced;

template <size_t I>
PyObject* factory(PyObject* self, PyObject* args, PyObject* kwargs) {
  static PyObject* const out = PyUnicode_InternFromString("out");
  static PyObject* const device = PyUnicode_InternFromString("device");
  bool compares = kwargs != nullptr && (I == kAsArray || PyDict_GetItem(kwargs, out) != nullptr);
  PyObject* given = compares ? PyDict_GetItem(kwargs, device) : nullptr;
  if (given == nullptr || given == Py_None) return replaced[I].torchs(self, args, kwargs);
  HANDLE_TH_ERRORS
  // torch.device makes it the target's; of what it refuses torch's function has an error of its own
  auto named = py::reinterpret_steal<py::object>(PyObject_CallOneArg(reinterpret_cast<PyObject*>(&THPDeviceType), given));
  if (!named) return PyErr_Clear(), replaced[I].torchs(self, args, kwargs);
  auto changed = py::reinterpret_steal<py::object>(PyDict_Copy(kwargs));
  PyDict_SetItem(changed.ptr(), device, named.ptr());
  return replaced[I].torchs(self, args, changed.ptr());
  END_HANDLE_TH_ERRORS
}

template <size_t... I>
void put(const py::object& functions, std::index_sequence<I...>) {
  (replaced[I].put(functions.attr(kNames[I]).ptr(), factory<I>), ...);
}

}  // namespace

void engage_factories() {
  put(py::module_::import("torch._C").attr("_VariableFunctions"), std::make_index_sequence<kNames.size()>());
}

void disengage_factories() {
  for (FunctionReplacement& each : replaced) each.restore();
}

}  // namespace seam
