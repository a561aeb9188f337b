// The software device, by torch's own interfaces.
#include "device.h"

#include "arrays.h"
#include "graphs.h"

#include "sanitizer/checks.h"

#include <ATen/detail/CUDAHooksInterface.h>

#include <c10/core/impl/TorchDispatchModeTLS.h>
#include <c10/util/Exception.h>

#include <Python.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstring>

namespace morph_cuda {
namespace {

c10::Allocator* pinned() { return at::detail::getCUDAHooks().getPinnedMemoryAllocator(); }

class Gil {
 public:
  Gil() {
    TORCH_CHECK(Py_IsInitialized(), "the software device has no properties outside of Python");
    state_ = PyGILState_Ensure();
  }
  ~Gil() { PyGILState_Release(state_); }

 private:
  PyGILState_STATE state_;
};

struct Object {
  PyObject* value;
  explicit Object(PyObject* value) : value(value) {
    if (!value) PyErr_Clear();
  }
  ~Object() { Py_XDECREF(value); }
};

template <class... Index>
PyObject* call(const char* function, const char* types, Index... index) {
  Object module(PyImport_ImportModule("torch.cuda"));
  PyObject* found = module.value ? PyObject_CallMethod(module.value, function, types, index...) : nullptr;
  TORCH_CHECK(found, "torch.cuda.", function, " failed");
  return found;
}

long long number(PyObject* of, const char* name) {
  Object found(PyObject_GetAttrString(of, name));
  long long value = found.value ? PyLong_AsLongLong(found.value) : 0;
  if (PyErr_Occurred()) PyErr_Clear();
  return value;
}

void read_name(PyObject* of, cudaDeviceProp& into) {
  Object name(PyObject_GetAttrString(of, "name"));
  const char* text = name.value ? PyUnicode_AsUTF8(name.value) : nullptr;
  if (text) std::strncpy(into.name, text, sizeof into.name - 1);
}

}  // namespace

c10::impl::VirtualGuardImpl device() { return c10::impl::VirtualGuardImpl(c10::DeviceType::CUDA); }

c10::Stream stream_of(cudaStream_t handle) {
  if (handle == cudaStreamLegacy || handle == cudaStreamPerThread) handle = nullptr;  // the default stream
  return c10::Stream(c10::Stream::UNSAFE, device().getDevice(), reinterpret_cast<c10::StreamId>(handle));
}

cudaStream_t handle_of(c10::Stream stream) { return reinterpret_cast<cudaStream_t>(stream.id()); }

bool is_capturing(c10::Stream stream) {
#if TORCH_VERSION_MINOR >= 12
  return device().isStreamCapturing(stream);
#else
  if (stream != device().getStream(stream.device())) return false;
  Gil gil;
  Object module(PyImport_ImportModule("torch.cuda"));
  Object found(module.value ? PyObject_CallMethod(module.value, "is_current_stream_capturing", nullptr) : nullptr);
  return found.value && PyObject_IsTrue(found.value);
#endif
}

// A capture records operators, with a dispatch mode that is not active within one: there the operator is recorded. A
// launch on the default stream is refused too, since the program seldom means what CUDA does: it is in no graph.
void refuse_in_torchs_capture(cudaStream_t stream) {
  if (!c10::impl::TorchDispatchModeTLS::any_modes_set()) return;
  device().queryStream(stream ? stream_of(stream) : device().getStream(device().getDevice()));  // which a capture refuses
}
void refuse_in_capture(cudaStream_t stream) {
  bool is_refused = graphs::unsafe() || graphs::forbidden(stream);
  TORCH_CHECK(!is_refused, "a graph keeps no call of a library on the software device");
  refuse_in_torchs_capture(stream);
}

std::pair<size_t, size_t> memory_of(int index) {
  Gil gil;
  Object found(call("mem_get_info", "i", index));
  size_t free = 0, total = 0;
  TORCH_CHECK(PyArg_ParseTuple(found.value, "nn", &free, &total), "torch.cuda.mem_get_info(", index, ") failed");
  return {free, total};
}

bool reaches(int index, int peer) {
  Gil gil;
  return PyObject_IsTrue(Object(call("can_device_access_peer", "ii", index, peer)).value);
}

cudaDeviceProp properties_of(int index) {
  Gil gil;
  Object found(call("get_device_properties", "i", index));
  cudaDeviceProp p{};
  PyObject* of = found.value;
  read_name(of, p);
  p.totalGlobalMem = size_t(number(of, "total_memory"));
  p.multiProcessorCount = int(number(of, "multi_processor_count"));
  p.major = int(number(of, "major")), p.minor = int(number(of, "minor"));
  p.l2CacheSize = int(number(of, "L2_cache_size")), p.warpSize = 32;
  p.regsPerMultiprocessor = int(number(of, "regs_per_multiprocessor")), p.regsPerBlock = 65536;
  p.clockRate = int(number(of, "clock_rate")), p.memoryClockRate = int(number(of, "memory_clock_rate"));
  p.memoryBusWidth = int(number(of, "memory_bus_width"));
  p.pciBusID = int(number(of, "pci_bus_id")), p.pciDeviceID = int(number(of, "pci_device_id"));
  p.cooperativeLaunch = p.concurrentManagedAccess = 1, p.sharedMemPerBlock = 49152;
  p.reservedSharedMemPerBlock = size_t(number(of, "_reserved_shared_memory_per_block"));
  p.sharedMemPerBlockOptin = size_t(number(of, "shared_memory_per_block_optin"));
  p.sharedMemPerMultiprocessor = size_t(number(of, "shared_memory_per_multiprocessor"));
  p.maxThreadsPerBlock = p.maxThreadsDim[0] = p.maxThreadsDim[1] = 1024, p.maxThreadsDim[2] = 64;
  p.maxGridSize[0] = 0x7fffffff, p.maxGridSize[1] = p.maxGridSize[2] = 65535;
  p.maxThreadsPerMultiProcessor = int(number(of, "max_threads_per_multi_processor"));
  p.maxBlocksPerMultiProcessor = int(number(of, "_max_blocks_per_multi_processor"));
  p.memPitch = 0x7fffffff, p.totalConstMem = 65536;
  tell_texture_limits(p);
  p.canMapHostMemory = p.concurrentKernels = p.unifiedAddressing = p.managedMemory = p.computePreemptionSupported = 1;
  return p;
}

void* address_of(const char* function) {
  Gil gil;
  Object module(PyImport_ImportModule("morph.software.machine"));
  Object machine(module.value ? PyObject_CallMethod(module.value, "started", nullptr) : nullptr);
  Object native(machine.value ? PyObject_GetAttrString(machine.value, "native") : nullptr);
  Object address(native.value ? PyObject_CallMethod(native.value, function, nullptr) : nullptr);
  TORCH_CHECK(address.value, "the software device is not there");
  return PyLong_AsVoidPtr(address.value);
}

void* served_function(const char* library, const char* name) {
  Gil gil;
  Object module(PyImport_ImportModule("ctypes"));
  Object loaded(module.value ? PyObject_CallMethod(module.value, "CDLL", "s", library) : nullptr);
  Object handle(loaded.value ? PyObject_GetAttrString(loaded.value, "_handle") : nullptr);
  void* found = handle.value ? dlsym(PyLong_AsVoidPtr(handle.value), name) : nullptr;
  TORCH_CHECK(found, library, ", which morph serves, has no ", name, " here");
  return found;
}

const DeviceFunctions& device_functions() {
  static const auto* functions = static_cast<const DeviceFunctions*>(address_of("device_functions"));
  return *functions;
}

bool protects_memory() { return sanitizer::is_memory_hidden() || sanitizer::is_order_watched(); }
void begin_device_access() {
  if (protects_memory()) device_functions().begin_access();
}
void end_device_access() {
  if (protects_memory()) device_functions().end_access();
}
void* usable_address(const void* pointer) {
  return sanitizer::is_memory_hidden() ? device_functions().usable(pointer) : const_cast<void*>(pointer);
}
void* take_pinned(size_t bytes) {
  return sanitizer::is_memory_hidden() ? pinned()->raw_allocate(bytes) : ::operator new(bytes);
}
void give_back_pinned(void* pointer) {
  if (sanitizer::is_memory_hidden()) pinned()->raw_deallocate(pointer);
  else ::operator delete(pointer);
}

void* pause_checks() { return std::exchange(sanitizer::active, nullptr); }
void resume_checks(void* paused) { sanitizer::active = static_cast<sanitizer::Watcher*>(paused); }

std::string lines_of(const void* allocation) {
  Gil gil;
  Object module(PyImport_ImportModule("morph.software.sanitizing"));
  Object found(module.value ? PyObject_CallMethod(module.value, "lines_of", "K", reinterpret_cast<size_t>(allocation)) : nullptr);
  const char* text = found.value ? PyUnicode_AsUTF8(found.value) : nullptr;
  if (!text) PyErr_Clear();
  return text ? text : "";
}

std::string pending_error() {
  Gil gil;
  if (Py_MakePendingCalls() == 0) return "";
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  Object kind(type), error(value), where(trace), text(value ? PyObject_Str(value) : nullptr);
  const char* said = text.value ? PyUnicode_AsUTF8(text.value) : nullptr;
  return said ? said : "an error in Python";
}

size_t most_shared() {
  static const size_t most = properties_of(0).sharedMemPerBlockOptin;  // all devices stand for one card
  return most;
}

}  // namespace morph_cuda
