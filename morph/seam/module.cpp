// The Python module: engage(device_type), disengage(), caught(), and the counts and the history of the host's memory.
#include "host_memory.h"
#include "memory_history.h"
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
    {engage_host_memory, disengage_host_memory},
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

PyObject* memory(PyObject*, PyObject*) {
  return guarded([] { return as_dict(host_memory()); });
}

PyObject* reset_peak_memory(PyObject*, PyObject*) {
  reset_peak_host_memory();
  Py_RETURN_NONE;
}

PyObject* reset_accumulated_memory(PyObject*, PyObject*) {
  reset_accumulated_host_memory();
  Py_RETURN_NONE;
}

PyObject* limit_memory(PyObject*, PyObject* bytes) {
  uint64_t most = PyLong_AsUnsignedLongLong(bytes);
  if (PyErr_Occurred()) return nullptr;
  limit_host_memory(most);
  Py_RETURN_NONE;
}

PyObject* record_history(PyObject*, PyObject* events) {
  size_t most = PyLong_AsSize_t(events);
  if (PyErr_Occurred()) return nullptr;
  record_memory_history(most);
  Py_RETURN_NONE;
}

PyObject* history(PyObject*, PyObject*) {
  MemoryHistory kept = memory_history();
  PyObject* events = PyList_New(0);
  for (const MemoryEvent& event : kept.events) {
    PyObject* tuple = Py_BuildValue("(OKKL)", event.allocated ? Py_True : Py_False, event.address, event.bytes,
                                    static_cast<long long>(event.microseconds));
    PyList_Append(events, tuple);
    Py_DECREF(tuple);
  }
  PyObject* blocks = PyDict_New();
  for (const auto& [address, bytes] : kept.blocks) {
    PyObject* key = PyLong_FromUnsignedLongLong(address);
    PyObject* value = PyLong_FromUnsignedLongLong(bytes);
    PyDict_SetItem(blocks, key, value);
    Py_DECREF(key);
    Py_DECREF(value);
  }
  return Py_BuildValue("(NN)", events, blocks);
}

PyMethodDef functions[] = {
    {"engage", engage, METH_O, "Makes CUDA another name of a device type."},
    {"disengage", disengage, METH_NOARGS, "Puts everything back."},
    {"caught", caught, METH_NOARGS, "The calls that came through, by operator name."},
    {"memory", memory, METH_NOARGS, "What tensors hold of the host's memory, while the CPU is the target."},
    {"reset_peak_memory", reset_peak_memory, METH_NOARGS, "Begins the peaks of memory() anew."},
    {"reset_accumulated_memory", reset_accumulated_memory, METH_NOARGS, "Begins the totals of memory() anew."},
    {"limit_memory", limit_memory, METH_O, "Refuses what would hold more bytes than that."},
    {"record_history", record_history, METH_O, "Keeps that many events of memory from now on; 0 ends it."},
    {"history", history, METH_NOARGS, "The events that were kept, and the blocks that are held of them."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef definition = {PyModuleDef_HEAD_INIT, "seam", nullptr, -1, functions};

}  // namespace
}  // namespace seam

PyMODINIT_FUNC PyInit_seam() { return PyModule_Create(&seam::definition); }
