// The Python module: engage(device_type), disengage(), caught(), and workarounds for what a vendor lacks.
#include "seam.h"

#include <Python.h>
#include <c10/util/Exception.h>

#include <vector>

namespace seam {
namespace {

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
    {engage_storage, disengage_storage},
    {engage_tensor_methods, disengage_tensor_methods},
    {engage_factories, disengage_factories},
    {engage_scripts, disengage_scripts},
    {[] {}, disengage_views},
    {[] {}, disengage_formats},
    {[] {}, disengage_reductions},
    {[] {}, disengage_host},
    {[] {}, disengage_copies},
    {[] {}, disengage_exhaustion},
    {[] {}, disengage_waits},
};

std::vector<Part> engaged;

void take_out() {
  for (; !engaged.empty(); engaged.pop_back()) engaged.back().disengage();
}

void put_in(const std::string& name) {
  c10::DeviceType type = c10::Device(name).type();
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

template <void (*change)()>
PyObject* plain(PyObject*, PyObject*) {
  return guarded([] {
    change();
    Py_RETURN_NONE;
  });
}

template <void (*change)(const std::string&)>
PyObject* of_text(PyObject*, PyObject* text) {
  const char* given = PyUnicode_AsUTF8(text);
  if (given == nullptr) return nullptr;
  return guarded([&] {
    change(given);
    Py_RETURN_NONE;
  });
}

PyObject* ask(PyObject*, PyObject* views) {
  answer_by_caller(views);
  Py_RETURN_NONE;
}

PyObject* expect(PyObject*, PyObject* count) {
  long devices = PyLong_AsLong(count);
  if (devices == -1 && PyErr_Occurred()) return nullptr;
  expect_devices(int(devices));
  Py_RETURN_NONE;
}

// Calls `change(names, saying)` with a tuple of strings and a string.
template <void (*change)(const std::vector<std::string>&, const std::string&)>
PyObject* work_around(PyObject*, PyObject* arguments) {
  PyObject* given = nullptr;
  const char* saying = nullptr;
  if (!PyArg_ParseTuple(arguments, "O!s", &PyTuple_Type, &given, &saying)) return nullptr;
  std::vector<std::string> names;
  for (Py_ssize_t i = 0; i < PyTuple_Size(given); ++i) {
    const char* name = PyUnicode_AsUTF8(PyTuple_GetItem(given, i));
    if (name == nullptr) return nullptr;
    names.emplace_back(name);
  }
  return guarded([&] {
    change(names, saying);
    Py_RETURN_NONE;
  });
}

PyObject* waited(PyObject*, PyObject*) {
  auto [count, thread] = waits();
  return Py_BuildValue("Kk", static_cast<unsigned long long>(count), thread);
}

PyObject* as_dict(const std::map<std::string, uint64_t>& numbers) {
  PyObject* dict = PyDict_New();
  for (const auto& [name, number] : numbers) {
    PyObject* value = PyLong_FromUnsignedLongLong(number);
    PyDict_SetItemString(dict, name.c_str(), value);
    Py_DECREF(value);
  }
  return dict;
}

PyObject* caught(PyObject*, PyObject*) {
  return guarded([] { return as_dict(counted()); });
}

PyMethodDef functions[] = {
    {"engage", of_text<put_in>, METH_O, "Makes CUDA another name of a device type."},
    {"answer_by_caller", ask, METH_O, "Has a device answer by who asks, as a function of the frame says."},
    {"expect_devices", expect, METH_O, "Says how many devices there are until one is used; -1 asks the vendor."},
    {"leave_out_formats", work_around<leave_out_formats>, METH_VARARGS,
     "Has operators compute without the memory formats that they refuse."},
    {"reduce_on_host", work_around<reduce_on_host>, METH_VARARGS, "Has collectives reduce dtypes on the host."},
    {"compute_rest_on_host", plain<compute_rest_on_host>, METH_NOARGS,
     "Has the host compute what the device has no kernel for."},
    {"order_copies", of_text<order_copies>, METH_O,
     "Has copies end before they return where the host's memory is not pinned."},
    {"tell_exhaustion", of_text<tell_exhaustion>, METH_O,
     "Makes the vendor's error for exhausted memory a torch.OutOfMemoryError."},
    {"count_waits", plain<count_waits>, METH_NOARGS, "Counts how often the host waits for a number of the device's."},
    {"waits", waited, METH_NOARGS, "That count, and the thread that waits now, or 0."},
    {"number_by_local_rank", plain<number_by_local_rank>, METH_NOARGS,
     "Has CUDA number the one device of a process by its local rank."},
    {"disengage", plain<take_out>, METH_NOARGS, "Puts everything back."},
    {"caught", caught, METH_NOARGS, "The calls that came through, by operator name."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef module_definition = {PyModuleDef_HEAD_INIT, "seam", nullptr, -1, functions};

}  // namespace
}  // namespace seam

PyMODINIT_FUNC PyInit_seam() { return PyModule_Create(&seam::module_definition); }
