// torch.device("cuda") is the target's device, and so is every CUDA device that Python gets to see.
//
// Devices are made in two places: by tp_new, and in C++ (a device argument that reaches a Python mode). The second
// cannot be intercepted, so every function of a device object first turns the object into the target's device.
#include "replacement.h"
#include "seam.h"

#include <c10/core/Event.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/csrc/Device.h>
#include <torch/csrc/Event.h>
#include <torch/csrc/Stream.h>

namespace seam {
namespace {

using c10::Device;
using c10::DeviceType;

SlotReplacement<newfunc> torch_new;
SlotReplacement<newfunc> torch_event_new;
SlotReplacement<newfunc> torch_stream_new;
SlotReplacement<reprfunc> torch_repr;
SlotReplacement<reprfunc> torch_str;
SlotReplacement<hashfunc> torch_hash;
SlotReplacement<richcmpfunc> torch_compare;
GetterReplacement torch_type;
GetterReplacement torch_index;
MethodReplacement<PyCFunction> torch_reduce;
MethodReplacement<PyCFunction> torch_enter;

// An index without a device keeps type CUDA, so that using it raises the seam's error and not the vendor's.
PyObject* translated(PyObject* object) {
  auto& device = reinterpret_cast<THPDevice*>(object)->device;
  if (device.type() == DeviceType::CUDA && exists(device))
    device = numbered_by_target(device);
  else if (device.type() == target() && device.index() > 0 && device.index() == numbered_by_cuda(Device(target(), 0)))
    device = Device(target(), 0);  // as torch's own code joins the vendor's type with a number of the program's
  return object;
}

PyObject* new_device(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  PyObject* made = torch_new.torchs(type, args, kwargs);
  return made != nullptr && THPDevice_Check(made) ? translated(made) : made;
}

bool is_shown_as_cuda(PyObject* self) {
  return reinterpret_cast<THPDevice*>(translated(self))->device.type() == target() && is_asked_for_cuda();
}

// As torch writes the CUDA device with that index.
PyObject* shown(PyObject* self, const char* bare, const char* indexed) {
  int index = numbered_by_cuda(reinterpret_cast<THPDevice*>(self)->device);
  return index < 0 ? PyUnicode_FromString(bare) : PyUnicode_FromFormat(indexed, index);
}

PyObject* repr(PyObject* self) {
  if (!is_shown_as_cuda(self)) return torch_repr.torchs(self);
  return shown(self, "device(type='cuda')", "device(type='cuda', index=%d)");
}

PyObject* str(PyObject* self) {
  return is_shown_as_cuda(self) ? shown(self, "cuda", "cuda:%d") : torch_str.torchs(self);
}

PyObject* type(PyObject* self, void* closure) {
  static PyObject* const cuda = PyUnicode_InternFromString("cuda");
  return is_shown_as_cuda(self) ? Py_NewRef(cuda) : torch_type.torchs(self, closure);
}

PyObject* index(PyObject* self, void* closure) {
  auto& device = reinterpret_cast<THPDevice*>(translated(self))->device;
  int shown = device.type() == target() ? numbered_by_cuda(device) : device.index();
  if (shown == device.index() || !is_asked_for_cuda()) return torch_index.torchs(self, closure);
  return PyLong_FromLong(shown);
}

PyObject* enter(PyObject* self, PyObject* args) { return torch_enter.torchs(translated(self), args); }

Py_hash_t hash(PyObject* self) { return torch_hash.torchs(translated(self)); }

PyObject* compare(PyObject* a, PyObject* b, int operation) {
  if (THPDevice_Check(a)) translated(a);
  if (THPDevice_Check(b)) translated(b);
  return torch_compare.torchs(a, b, operation);
}

// A vendor's device is pickled as "cuda": a CUDA machine can load it, and under morph it is the vendor's again.
PyObject* reduce(PyObject* self, PyObject* args) {
  PyObject* reduced = torch_reduce.torchs(translated(self), args);
  if (reduced == nullptr || reinterpret_cast<THPDevice*>(self)->device.type() != target()) return reduced;
  PyObject* arguments = PyTuple_GetItem(reduced, 1);
  PyTuple_SetItem(arguments, 0, PyUnicode_FromString("cuda"));
  if (PyTuple_Size(arguments) > 1)
    PyTuple_SetItem(arguments, 1, PyLong_FromLong(numbered_by_cuda(reinterpret_cast<THPDevice*>(self)->device)));
  return reduced;
}

// An event only takes streams of its own device type, so that of "cuda" is made as the vendor's.
PyObject* new_event(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  PyObject* made = torch_event_new.torchs(type, args, kwargs);
  if (made == nullptr || !PyObject_TypeCheck(made, &THPEventType)) return made;
  auto& event = reinterpret_cast<THPEvent*>(made)->event;
  if (event.device_type() == DeviceType::CUDA) event = c10::Event(target(), event.flag());
  return made;
}

// Some vendors make no stream for a device without an index, which is the current one to CUDA.
PyObject* with_index(PyObject* given) {
  auto* type = reinterpret_cast<PyObject*>(&THPDeviceType);
  PyObject* made = THPDevice_Check(given) ? Py_NewRef(given) : PyObject_CallOneArg(type, given);
  if (made == nullptr) return nullptr;
  auto device = reinterpret_cast<THPDevice*>(translated(made))->device;
  if (device.type() != target() || device.has_index()) return made;
  Py_DECREF(made);
  return THPDevice_New(c10::impl::getDeviceGuardImpl(target())->getDevice());
}

PyObject* new_stream(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  PyObject* named = kwargs == nullptr ? nullptr : PyDict_GetItemString(kwargs, "device");
  bool is_first = named == nullptr && PyTuple_Size(args) == 1;
  PyObject* given = is_first ? PyTuple_GetItem(args, 0) : named;
  if (given == nullptr || !(THPDevice_Check(given) || PyUnicode_Check(given)))
    return torch_stream_new.torchs(type, args, kwargs);
  PyObject* device = with_index(given);
  if (device == nullptr) return nullptr;
  PyObject* rest = is_first ? PyTuple_New(0) : Py_NewRef(args);
  PyObject* options = kwargs == nullptr ? PyDict_New() : PyDict_Copy(kwargs);
  PyDict_SetItemString(options, "device", device);
  PyObject* made = torch_stream_new.torchs(type, rest, options);
  Py_DECREF(device);
  Py_DECREF(rest);
  Py_DECREF(options);
  return made;
}

}  // namespace

void engage_device_objects() {
  PyTypeObject& device = THPDeviceType;
  torch_new.put(&device.tp_new, new_device);
  torch_repr.put(&device.tp_repr, repr);
  torch_str.put(&device.tp_str, str);
  torch_hash.put(&device.tp_hash, hash);
  torch_compare.put(&device.tp_richcompare, compare);
  torch_type.put(&device, "type", type);
  torch_index.put(&device, "index", index);
  torch_reduce.put(&device, "__reduce__", reduce);
  torch_enter.put(&device, "__enter__", enter);
  torch_event_new.put(&THPEventType.tp_new, new_event);
  torch_stream_new.put(&THPStreamClass->tp_new, new_stream);
  for (auto* type : {&device, &THPEventType, THPStreamClass}) PyType_Modified(type);
}

void disengage_device_objects() {
  torch_stream_new.restore();
  torch_event_new.restore();
  torch_enter.restore();
  torch_reduce.restore();
  torch_index.restore();
  torch_type.restore();
  torch_compare.restore();
  torch_hash.restore();
  torch_str.restore();
  torch_repr.restore();
  torch_new.restore();
  for (auto* type : {&THPDeviceType, &THPEventType, THPStreamClass}) PyType_Modified(type);
}

}  // namespace seam
