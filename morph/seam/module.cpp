// The Python module: engage(device_type), disengage(), caught().
#include "seam.h"

#include <Python.h>
#include <c10/util/Exception.h>
#include <torch/csrc/utils/device_lazy_init.h>

#include <vector>

namespace seam {
namespace {

// torch asks torch.cuda to initialise itself before it uses a CUDA device; the target is initialised instead.
void engage_initialization() { torch::utils::set_requires_device_init(c10::DeviceType::CUDA, false); }
void disengage_initialization() { torch::utils::set_requires_device_init(c10::DeviceType::CUDA, true); }

struct Part {
  void (*engage)();
  void (*disengage)();
};
constexpr Part parts[] = {
    {engage_guard, disengage_guard},
    {engage_hooks, disengage_hooks},
    {engage_dispatch, disengage_dispatch},
    {engage_initialization, disengage_initialization},
    {engage_device_objects, disengage_device_objects},
    {engage_tensor_methods, disengage_tensor_methods},
};

std::vector<Part> engaged;

void take_out() {
  for (; !engaged.empty(); engaged.pop_back()) engaged.back().disengage();
}

void put_in(c10::DeviceType type) {
  TORCH_CHECK(type != c10::DeviceType::CUDA, "CUDA cannot stand for itself");
  if (!engaged.empty() && type == target()) return;
  take_out();
  set_target(type);
  try {
    for (const Part& part : parts) {
      engaged.push_back(part);
      part.engage();
    }
  } catch (...) {
    take_out();
    throw;
  }
}

template <class Function>
PyObject* guarded(Function function) {
  try {
    return function();
  } catch (const c10::Error& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what_without_backtrace());
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

PyObject* engage(PyObject*, PyObject* name) {
  const char* type = PyUnicode_AsUTF8(name);
  if (type == nullptr) return nullptr;
  return guarded([&] {
    put_in(c10::Device(type).type());
    Py_RETURN_NONE;
  });
}

PyObject* disengage(PyObject*, PyObject*) {
  return guarded([] {
    take_out();
    Py_RETURN_NONE;
  });
}

PyObject* caught(PyObject*, PyObject*) {
  return guarded([]() -> PyObject* {
    PyObject* calls = PyDict_New();
    for (const auto& [name, number] : counted()) {
      PyObject* value = PyLong_FromUnsignedLongLong(number);
      PyDict_SetItemString(calls, name.c_str(), value);
      Py_DECREF(value);
    }
    return calls;
  });
}

PyMethodDef functions[] = {
    {"engage", engage, METH_O, "Makes CUDA another name of a device type."},
    {"disengage", disengage, METH_NOARGS, "Puts everything back."},
    {"caught", caught, METH_NOARGS, "The calls that came through, by operator name."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef definition = {PyModuleDef_HEAD_INIT, "seam", nullptr, -1, functions};

}  // namespace
}  // namespace seam

PyMODINIT_FUNC PyInit_seam() { return PyModule_Create(&seam::definition); }
