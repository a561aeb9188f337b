// torch.cuda._gpu_trace: what is told of memory, streams and events, to torch's CUDA sanitizer for instance.
#pragma once

#include "device/device.h"

#include <c10/core/impl/GPUTrace.h>
#include <c10/core/impl/PyInterpreter.h>

namespace software {

inline bool is_traced() {
  bool known = settings().type == c10::DeviceType::CUDA || settings().type == c10::DeviceType::XPU;
  return known && c10::impl::GPUTrace::get_trace();
}

// Calls a function of the interpreter, as &Table::trace_gpu_event_record, if somebody listens.
using Table = c10::impl::PyInterpreterVTable;
template <class Function, class... Values>
void trace(Function function, Values... values) {
  if (is_traced()) [[unlikely]] ((**c10::impl::GPUTrace::get_trace()).*function)(settings().type, uintptr_t(values)...);
}

}  // namespace software
