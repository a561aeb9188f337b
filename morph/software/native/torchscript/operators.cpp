// torch.cuda in TorchScript: the classes and operators that a CUDA build of torch registers
// (torch/csrc/jit/cuda/cuda.h, torch/csrc/jit/runtime/register_cuda_ops.cpp), over torch's table of device guards.
#include <Python.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/custom_class.h>
#include <torch/library.h>

namespace torchscript {
namespace {

using c10::Device;
using c10::DeviceIndex;
using c10::DeviceType;
using c10::intrusive_ptr;
using MaybeDevice = std::optional<Device>;
using MaybeIndex = std::optional<int64_t>;

c10::impl::VirtualGuardImpl devices() { return {DeviceType::CUDA}; }

Device numbered(int64_t index) { return {DeviceType::CUDA, DeviceIndex(index)}; }
Device chosen(MaybeDevice device) {
  return device && device->has_index() ? numbered(device->index()) : devices().getDevice();
}
Device chosen(MaybeIndex index) { return index ? numbered(*index) : devices().getDevice(); }

struct Event;

struct Stream final : torch::CustomClassHolder {
  c10::Stream stream;

  explicit Stream(c10::Stream given) : stream(given) {}
  Stream(MaybeDevice device, int64_t priority) : stream(devices().getNewStream(chosen(device), int(priority))) {}

  bool query() { return stream.query(); }
  void synchronize() { stream.synchronize(); }
  int64_t device_index() { return stream.device_index(); }
  Device device() { return stream.device(); }
  int64_t id() { return stream.id(); }
  intrusive_ptr<Event> record_event(intrusive_ptr<Event> event);
  void wait_event(const intrusive_ptr<Event>& event);
  void wait_stream(const intrusive_ptr<Stream>& other) { wait_event(other->record_event({})); }
};

struct Event final : torch::CustomClassHolder {
  c10::Event event;

  // How a host waits, and that another process may, is nothing that a program's result depends on.
  Event(bool timing, bool /*blocking*/, bool /*interprocess*/)
      : event(DeviceType::CUDA, timing ? c10::EventFlag::BACKEND_DEFAULT : c10::EventFlag::PYTORCH_DEFAULT) {}

  double elapsed_time(const intrusive_ptr<Event>& end) { return event.elapsedTime(end->event); }
  bool query() { return event.query(); }
  void synchronize() { event.synchronize(); }
  void record(const intrusive_ptr<Stream>& stream) { event.record(stream->stream); }
  void wait(const intrusive_ptr<Stream>& stream) { event.block(stream->stream); }
};

intrusive_ptr<Event> Stream::record_event(intrusive_ptr<Event> event) {
  if (!event) event = c10::make_intrusive<Event>(false, false, false);
  event->event.record(stream);
  return event;
}

void Stream::wait_event(const intrusive_ptr<Event>& event) { event->event.block(stream); }

intrusive_ptr<Stream> current_stream(Device device) {
  return c10::make_intrusive<Stream>(devices().getStream(device));
}
intrusive_ptr<Stream> default_stream(Device device) {
  return c10::make_intrusive<Stream>(devices().getDefaultStream(device));
}

void synchronize(Device device) { devices().synchronizeDevice(device.index()); }

void set_stream(const intrusive_ptr<Stream>& to) {
  if (devices().getDevice().index() != to->device_index()) devices().setDevice(to->device());
  devices().exchangeStream(to->stream);
}

int64_t exchange_device(int64_t index) {
  return index < 0 ? -1 : devices().exchangeDevice(numbered(index)).index();
}

int64_t index_of(Device device) { return device.index(); }

void add_classes(torch::Library& library) {
  auto stream = library.class_<Stream>("Stream");  // before what names it
  auto event = library.class_<Event>("Event");
  stream
      .def(torch::init<MaybeDevice, int64_t>(), "",
           {torch::arg("device") = std::nullopt, torch::arg("priority") = 0})
      .def("query", &Stream::query)
      .def("record_event", &Stream::record_event)
      .def("synchronize", &Stream::synchronize)
      .def("wait_event", &Stream::wait_event)
      .def("wait_stream", &Stream::wait_stream)
      .def("device_index", &Stream::device_index)
      .def_property("device", &Stream::device)
      .def("id", &Stream::id);
  event
      .def(torch::init<bool, bool, bool>(), "",
           {torch::arg("enable_timing") = false, torch::arg("blocking") = false, torch::arg("interprocess") = false})
      .def("elapsed_time", &Event::elapsed_time)
      .def("query", &Event::query)
      .def("record", &Event::record)
      .def("synchronize", &Event::synchronize)
      .def("wait", &Event::wait);
}

#define STREAM "__torch__.torch.classes.cuda.Stream"

void add_operators(torch::Library& library) {
  library.def("current_stream.device(Device? device) -> " STREAM,
              [](MaybeDevice of) { return current_stream(chosen(of)); });
  library.def("current_stream.int(int? val) -> " STREAM, [](MaybeIndex of) { return current_stream(chosen(of)); });
  library.def("default_stream.device(Device? device) -> " STREAM,
              [](MaybeDevice of) { return default_stream(chosen(of)); });
  library.def("default_stream.int(int? val) -> " STREAM, [](MaybeIndex of) { return default_stream(chosen(of)); });
  library.def("set_stream(" STREAM " stream) -> ()", &set_stream);
  library.def("_current_device() -> int", [] { return index_of(devices().getDevice()); });
  library.def("_set_device(int val) -> ()", [](int64_t index) { devices().setDevice(numbered(index)); });
  // conservative: not left out where the result is not used
  for (const char* name : {"_exchange_device(int index) -> int", "_maybe_exchange_device(int index) -> int"})
    library.def(torch::schema(name, c10::AliasAnalysisKind::CONSERVATIVE), &exchange_device);
  library.def("device_index(Device device) -> int", &index_of);
  library.def("device_count() -> int", [] { return int64_t(devices().deviceCount()); });
  library.def("synchronize() -> ()", [] { synchronize(devices().getDevice()); });
  library.def("synchronize.device(Device? device) -> ()", [](MaybeDevice of) { synchronize(chosen(of)); });
  library.def("synchronize.int(int? val) -> ()", [](MaybeIndex of) { synchronize(chosen(of)); });
}

#undef STREAM

PyModuleDef module_definition = {PyModuleDef_HEAD_INIT, "software_torchscript", nullptr, -1, nullptr};

}  // namespace
}  // namespace torchscript

PyMODINIT_FUNC PyInit_software_torchscript() {
  try {
    static torch::Library library(torch::Library::FRAGMENT, "cuda", std::nullopt, __FILE__, __LINE__);
    torchscript::add_classes(library);
    torchscript::add_operators(library);
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_ImportError, error.what());
    return nullptr;
  }
  return PyModule_Create(&torchscript::module_definition);
}
