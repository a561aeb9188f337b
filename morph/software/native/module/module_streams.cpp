// Python bindings of streams and events.
#include "device/captures.h"
#include "device/clock.h"
#include "device/cublas.h"
#include "device/errors.h"
#include "module/module.h"
#include "device/order.h"
#include "operators/traits.h"

namespace software {
namespace {

c10::Stream stream_of(c10::StreamId id, int index) {
  return c10::Stream(c10::Stream::UNSAFE, device(index_of(index)), id);
}

double elapsed(size_t from, size_t to) {
  return elapsed_time(reinterpret_cast<void*>(from), reinterpret_cast<void*>(to));
}

void sleep_on_current(double seconds) {
  auto time = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  sleep_on(current_stream(current_device()), time);
}

// Of the library that computes an operator, by its qualified name.
void need_handle(const std::string& name) {
  if (traits(name.c_str()).multiplies) need_cublas(current_device());
}

c10::Stream current(int index) { return current_stream(checked(index_of(index))); }

}  // namespace

c10::DeviceIndex index_of(int64_t index) {
  if (index < -1 || index > std::numeric_limits<c10::DeviceIndex>::max()) refuse(kInvalidDevice);
  return c10::DeviceIndex(index);
}

void bind_streams(py::module& module) {
  module.def("stream_priority", &stream_priority);
  module.def("elapsed_time", &elapsed);
  module.def("event_time", &event_time);
  module.def("set_event_time", &set_event_time);
  module.def("sleep", &sleep_on_current);
  module.def("make_external", &make_external);
  module.def("begin_capture", [](int mode) { begin_capture(current(-1), CaptureMode(mode)); });
  module.def("refuse", [](int32_t code) { refuse(code); });
  module.def("end_capture", &end_capture);
  module.def("is_capturing", [] { return is_capturing(); });
  module.def("is_captured", [](c10::StreamId id, int index) { return is_capturing(stream_of(id, index)); });
  module.def("is_current_stream_captured", [](int index) { return is_capturing(current(index)); }, py::arg("index") = -1);
  module.def("note_captured_work", [] { note_captured_work(current(-1)); });
  module.def("refuse_in_capture", &refuse_in_capture, py::arg("detail") = "");
  module.def("need_handle", &need_handle);
  module.def("cublas_workspace", &cublas_workspace);
  module.def("set_cublas_workspace", &set_cublas_workspace);
  module.def("clear_cublas_workspaces", &clear_cublas_workspaces);
  module.def("watch_waits", [](int mode) { watch_waits(Waits(mode)); });
  module.def("pass_over_lines", &pass_over_lines);
  module.def("watch_order", &watch_order);
  module.def("handles", &handles);
  module.def("is_order_watched", &is_order_watched);
  module.def("order_of_collectives", [] {
    return std::pair(reinterpret_cast<size_t>(&queue_collective), reinterpret_cast<size_t>(&await_collective));
  });
  module.def("order_functions", [] {
    static const OrderFunctions all{&queue_launch, &note_blocking_stream, &prepare_call, &queue_call, &add_uses, &note_variable};
    return reinterpret_cast<size_t>(&all);
  });
  module.def("queue_kernel", &queue_kernel);
  module.def("watched_waits", [] { return int(watched_waits()); });
}

}  // namespace software
