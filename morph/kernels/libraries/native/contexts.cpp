// See contexts.h.
#include "contexts.h"

#include "machine.h"

#include <vector>

namespace contexts {
namespace {

constexpr uintptr_t kFirst = 0x10000, kStep = 0x100;
thread_local std::vector<int> before;  // the devices that were current before each push

}  // namespace

Context of(int device) { return reinterpret_cast<Context>(kFirst + kStep * uintptr_t(device)); }

int device(Context context) {
  auto value = reinterpret_cast<uintptr_t>(context);
  bool ours = value >= kFirst && (value - kFirst) % kStep == 0;
  int index = ours ? int((value - kFirst) / kStep) : -1;
  return machine::exists(index) ? index : -1;
}

int current(Context* context) {
  if (!context) return machine::kInvalidValue;
  int device = machine::get_device();
  *context = machine::is_used(device) ? of(device) : nullptr;
  return 0;
}

int make_current(Context context) {
  if (!context) return 0;  // there is always a current device
  int index = device(context), previous = machine::get_device();
  if (index < 0) return machine::kDeviceUninitialized;
  int code = machine::set_device(index);
  if (!code && before.empty()) before.push_back(previous);  // it takes the first place of the stack
  return code;
}

int push(Context context) {
  int index = device(context), previous = machine::get_device();
  if (index < 0) return machine::kDeviceUninitialized;
  int code = machine::set_device(index);
  if (!code) before.push_back(previous);
  return code;
}

int pop(Context* context) {
  if (before.empty()) return machine::kDeviceUninitialized;
  if (context) *context = of(machine::get_device());
  int previous = before.back();
  before.pop_back();
  return machine::set_device(previous);
}

}  // namespace contexts
