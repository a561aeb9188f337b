// What Python sees of the software device.
#include "module.h"

#include "clock.h"
#include "errors.h"

#include <ATen/Context.h>
#include <torch/csrc/Generator.h>
#include <torch/csrc/utils/device_lazy_init.h>

using namespace software;

namespace {

void call_when_initialized(py::function callback) {
  auto* kept = new py::function(std::move(callback));  // never dropped, as the device is not
  when_initialized([kept] {
    py::gil_scoped_acquire gil;
    (*kept)();
  });
}

void install_device(const std::string& type, int count, size_t memory, size_t padding, const std::string& title,
                    bool channels_last, bool float64) {
  auto kind = type == "privateuse1" ? c10::DeviceType::PrivateUse1 : c10::Device(type).type();
  install({kind, c10::DeviceIndex(count), memory, padding, title, channels_last, float64});
}

py::object default_generator(int index) {
  const at::Generator& generator = at::globalContext().defaultGenerator(device(c10::DeviceIndex(index)));
  return py::reinterpret_steal<py::object>(THPGenerator_initDefaultGenerator(generator));
}

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) {
  module.def("install", &install_device);
  module.def("engage", &engage_hooks);
  module.def("disengage", [] {  // torch asks its own module again, which refuses
    disengage_hooks();
    torch::utils::set_requires_device_init(settings().type, true);
  });
  module.def("initialize", &initialize);
  module.def("is_initialized", &is_initialized);
  module.def("when_initialized", &call_when_initialized);
  module.def("expect_no_call_of_torchs",
             [] { torch::utils::set_requires_device_init(settings().type, false); });
  module.def("is_in_bad_fork", &is_in_bad_fork);
  module.def("settle_autograd_threads", &settle_autograd_threads, py::call_guard<py::gil_scoped_release>());
  module.def("default_generator", &default_generator);
  module.def("current_device", [] { return int(current_device()); });
  module.def("set_device", [](int index) {
    set_current_device(index_of(index));
    open_context(index_of(index));
  });
  module.def("device_count", [] { return int(settings().count); });
  module.def("set_device_count", [](int count) { set_count(c10::DeviceIndex(count)); });
  module.def("has_context", [](int index) { return has_context(index_of(index)); });
  module.def("error_text", &error_text);
  bind_streams(module);
  bind_memory(module);
  bind_pools(module);
}
