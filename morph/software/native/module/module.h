// Shared by the parts of the extension module.
#pragma once

#include "device/device.h"

#include <pybind11/functional.h>
#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

namespace py = pybind11;

namespace software {

c10::DeviceIndex index_of(int64_t index);  // refused where no device can have it
void bind_streams(py::module& module);
void bind_memory(py::module& module);
void bind_peaks(py::module& module);
void bind_pools(py::module& module);

}  // namespace software
