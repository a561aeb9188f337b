// Running code that was compiled for the CPU on device memory.
#pragma once

#include <pybind11/pybind11.h>

namespace software {

// Adds what Python needs for it: host_tensor, CompiledCode, call_on_device.
void bind_compiled_code(pybind11::module_& module);

}  // namespace software
