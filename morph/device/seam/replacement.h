// Exchanges C functions of Python types, and restores them. No Python object is replaced: a slot is a pointer in the
// type, and the descriptor of a method or attribute, which early importers already hold, points to its definition.
#pragma once
#include <torch/csrc/python_headers.h>

#include <stdexcept>
#include <string>

namespace seam {

// The descriptor `name` of `type`, which lives as long as torch's type.
inline PyObject* descriptor(PyTypeObject* type, const char* name, PyTypeObject* kind) {
  PyObject* found = PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), name);
  if (found == nullptr) PyErr_Clear();
  Py_XDECREF(found);
  if (found == nullptr || !Py_IS_TYPE(found, kind))
    throw std::runtime_error(std::string(type->tp_name) + "." + name + " is not torch's own");
  return found;
}

template <class Function>
struct SlotReplacement {
  Function* slot = nullptr;
  Function torchs = nullptr;

  void put(Function* where, Function function) {
    slot = where;
    torchs = *where;
    *where = function;
  }
  void restore() {
    if (slot != nullptr) *slot = torchs;
    slot = nullptr;
  }
};

// `Function` is PyCFunction or PyCFunctionWithKeywords, as torch's own.
template <class Function>
struct MethodReplacement {
  PyMethodDescrObject* method = nullptr;
  PyMethodDef* original = nullptr;
  PyMethodDef changed{};
  Function torchs = nullptr;

  void put(PyTypeObject* type, const char* name, Function function) {
    method = reinterpret_cast<PyMethodDescrObject*>(descriptor(type, name, &PyMethodDescr_Type));
    original = method->d_method;
    torchs = reinterpret_cast<Function>(reinterpret_cast<void (*)()>(original->ml_meth));
    changed = *original;
    changed.ml_meth = reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
    method->d_method = &changed;
  }
  void restore() {
    if (method != nullptr) method->d_method = original;
    method = nullptr;
  }
};

// A static method, which Python keeps as one object under all its names.
struct FunctionReplacement {
  PyCFunctionObject* object = nullptr;
  PyMethodDef* original = nullptr;
  PyMethodDef changed{};
  PyCFunctionWithKeywords torchs = nullptr;

  void put(PyObject* found, PyCFunctionWithKeywords function) {
    if (!PyCFunction_CheckExact(found)) throw std::runtime_error("a function of torch is not torch's own");
    object = reinterpret_cast<PyCFunctionObject*>(found);
    original = object->m_ml;
    torchs = reinterpret_cast<PyCFunctionWithKeywords>(reinterpret_cast<void (*)()>(original->ml_meth));
    changed = *original;
    changed.ml_meth = reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
    object->m_ml = &changed;
  }
  void restore() {
    if (object != nullptr) object->m_ml = original;
    object = nullptr;
  }
};

struct GetterReplacement {
  PyGetSetDescrObject* attribute = nullptr;
  PyGetSetDef* original = nullptr;
  PyGetSetDef changed{};
  getter torchs = nullptr;

  void put(PyTypeObject* type, const char* name, getter function) {
    attribute = reinterpret_cast<PyGetSetDescrObject*>(descriptor(type, name, &PyGetSetDescr_Type));
    original = attribute->d_getset;
    torchs = original->get;
    changed = *original;
    changed.get = function;
    attribute->d_getset = &changed;
  }
  void restore() {
    if (attribute != nullptr) attribute->d_getset = original;
    attribute = nullptr;
  }
};

}  // namespace seam
