// Python bindings of the software device.
#include "module/module.h"

#include "device/activities.h"
#include "device/clock.h"
#include "module/compiled.h"
#include "device/errors.h"
#include "device/faults.h"
#include "device/reports.h"
#include "operators/operators.h"

#include <ATen/Context.h>
#include <ATen/native/transformers/sdp_utils_cpp.h>
#include <torch/csrc/DynamicTypes.h>
#include <torch/csrc/Exceptions.h>
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

void expect_faults_of(unsigned possible, py::function decide) {
  auto* kept = new py::function(std::move(decide));  // never dropped, as the device is not
  expect_faults(possible, [kept](Fault fault, int index, const char* name) {
    py::gil_scoped_acquire gil;
    return (*kept)(unsigned(fault), index, name).cast<bool>();
  });
}

void install_device(const std::string& type, int count, size_t memory, size_t padding, const std::string& title,
                    bool channels_last, bool float64, int of_card) {
  auto kind = type == "privateuse1" ? c10::DeviceType::PrivateUse1 : c10::Device(type).type();
  install({kind, c10::DeviceIndex(count), memory, padding, title, channels_last, float64, of_card, {}});
}

bool attention_takes_tensors(int kernel, const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                             const std::optional<at::Tensor>& mask, double dropout, bool causal, bool grouped,
                             bool debug) {
  return attention_takes(kernel, {query, key, value, mask, dropout, causal, grouped}, debug);
}

py::object default_generator(int index) {
  const at::Generator& generator = at::globalContext().defaultGenerator(device(c10::DeviceIndex(index)));
  return py::reinterpret_steal<py::object>(THPGenerator_initDefaultGenerator(generator));
}

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) {
  py::register_local_exception_translator([](std::exception_ptr error) {  // torch's own errors keep their types
    try {
      if (error) std::rethrow_exception(error);
    } catch (const c10::Error&) {
      torch::translate_exception_to_python(error);
    }
  });
  module.def("install", &install_device);
  module.def("engage", &engage_hooks);
  module.def("disengage", [] {  // torch calls its own module again, which refuses
    disengage_hooks();
    torch::utils::set_requires_device_init(settings().type, true);
  });
  module.def("initialize", &initialize);
  module.def("is_initialized", &is_initialized);
  module.def("set_visible_devices", &set_visible_devices);
  module.def("when_initialized", &call_when_initialized);
  module.def("expect_no_call_of_torchs",
             [] { torch::utils::set_requires_device_init(settings().type, false); });
  module.def("is_in_bad_fork", &is_in_bad_fork);
  module.def("attention_takes", torch::wrap_pybind_function(&attention_takes_tensors));
  module.def("default_generator", &default_generator);
  module.def("generator_state", &generator_state);
  module.def("current_device", [] { return int(current_device()); });
  module.def("set_device", [](int index) {
    set_current_device(index_of(index));
    open_context(index_of(index));
  });
  module.def("synchronize", [](int index) {
    py::gil_scoped_release others;
    open_context(index_of(index));
    wait_for_device(index_of(index));
  });
  module.def("device_count", [] { return int(settings().count); });
  module.def("has_context", [](int index) { return has_context(index_of(index)); });
  module.def("error_text", &error_text);
  module.def("refuse", [](int32_t code) { refuse(code); });
  module.def("expect_faults", &expect_faults_of);
  module.def("write_reports_to", &write_reports_to);
  module.def("note_found", &note_found);
  module.def("interface", &interface);
  module.def("records_activities", &records_activities);
  module.def("begin_kernel", [] { return is_profiled() ? trace_time() : 0; });
  module.def("end_kernel", [](const std::string& name, int64_t began) {
    record_work(Activity::kKernel, name, current_stream(current_device()), began);
  });
  module.def("begin_replay", [] {
    in_replay = true;
    return is_profiled() ? trace_time() : 0;
  });
  module.def("end_replay", [](int64_t began) {
    in_replay = false;
    if (began) record_call("cudaGraphLaunch", began);
  });
  module.def("write_result", [](at::Tensor& into, const at::Tensor& result) {  // on CUDA the kernel writes it there
    struct Unseen {
      const bool before = std::exchange(in_list_kernel, true);
      ~Unseen() { in_list_kernel = before; }
    } unseen;
    into.copy_(result);
  });
  module.def("count_operators", &count_operators);
  module.def("counted_operators", &counted_operators);
  module.def("share_storage", [](const py::object& storage) {
    Shared shared = share_storage(torch::createStorage(storage.ptr()));
    return std::make_tuple(shared.file, shared.segment, shared.offset, shared.counters, shared.counter);
  });
  module.def("open_shared_storage", [](int process, int file, size_t segment, size_t offset, int counters,
                                       size_t counter, size_t bytes, int index) {
    Shared place{file, segment, offset, counters, counter};
    auto storage = open_shared_storage(process, place, bytes, c10::DeviceIndex(index));
    return py::reinterpret_steal<py::object>(torch::createPyObject(storage));
  });
  module.def("let_go_of_shared", &let_go_of_shared);
  module.def("collect_shared", &collect_shared);
  module.def("allow_tensor_types", [](bool allowed, const std::vector<py::object>& types) {
    std::vector<void*> pointers;
    for (const py::object& type : types) pointers.push_back(type.ptr());
    allow_tensor_types(allowed, pointers);
  });
  module.def("set_default_tensor_type", [](const py::object& type) { set_default_tensor_type(type.ptr()); });
  bind_streams(module);
  bind_memory(module);
  bind_peaks(module);
  bind_pools(module);
  bind_compiled_code(module);
}
