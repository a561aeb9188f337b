// Counts the operators that get a tensor of the device, or are asked for one, while a report wants them counted.
#include "device/device.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/record_function.h>
#include <pthread.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <unordered_map>

namespace software {
namespace {

std::mutex counting;
std::unordered_map<c10::OperatorName, uint64_t>& counts = *new std::unordered_map<c10::OperatorName, uint64_t>;
std::optional<at::CallbackHandle> callback;

bool is_mine(c10::Device device) { return device.type() == settings().type; }

bool is_mine(const c10::IValue& value) {
  if (value.isTensor()) return value.toTensor().defined() && is_mine(value.toTensor().device());
  if (value.isDevice()) return is_mine(value.toDevice());
  if (!value.isList()) return false;
  c10::ArrayRef<c10::IValue> all = value.toListRef();
  return std::any_of(all.begin(), all.end(), [](const c10::IValue& each) { return is_mine(each); });
}

std::unique_ptr<at::ObserverContext> count_operator(const at::RecordFunction& called) {
  c10::ArrayRef<const c10::IValue> inputs = called.inputs();
  if (std::none_of(inputs.begin(), inputs.end(), [](const c10::IValue& each) { return is_mine(each); })) return nullptr;
  if (std::optional<c10::OperatorName> name = called.operator_name()) {
    std::lock_guard<std::mutex> lock(counting);
    counts[*name]++;
  }
  return nullptr;
}

// An operator that torch composes of others never reaches the device; they do.
bool reaches_the_device(const c10::OperatorName& name) {
  auto found = c10::Dispatcher::singleton().findSchema(name);
  return !found || found->hasKernelForDispatchKey(backend_key()) ||
         !found->hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
}

void survive_forks() {
  pthread_atfork([] { mutex.lock(); }, [] { mutex.unlock(); }, [] { mutex.unlock(); });
}

}  // namespace

void count_operators(bool wanted) {
  static std::once_flag once;
  std::call_once(once, &survive_forks);
  if (wanted && !callback) {
    auto operators = at::RecordFunctionCallback(&count_operator).needsInputs(true).scopes({at::RecordScope::FUNCTION});
    callback = at::addGlobalCallback(std::move(operators));
  } else if (!wanted && callback) {
    at::removeCallback(*callback);
    callback.reset();
  }
}

std::map<std::string, uint64_t> counted_operators() {
  std::lock_guard<std::mutex> lock(counting);
  std::map<std::string, uint64_t> shown;
  for (const auto& [name, calls] : counts)
    if (reaches_the_device(name)) shown[c10::toString(name)] = calls;
  return shown;
}

}  // namespace software
