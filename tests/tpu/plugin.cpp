// A PJRT plug-in for torch_tpu: XLA's for the CPU, of whose devices a process gets one, as of a host's TPUs.
// It makes four unless its client is created with the option cpu_device_count, which torch_tpu 0.2.0 does not
// give. It tells the memory of an executable's outputs, which torch.compile asks for and XLA's for the CPU does
// not tell: there is one kind. What it says of memory (memory.cpp) is left out where
// XLA_CPU_PLUGIN_WITHOUT_MEMORY is set.

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "memory.h"
#include "pjrt.h"

using namespace pjrt;

namespace {

constexpr char kDeviceCount[] = "cpu_device_count";
constexpr char kMemory[] = "device";
Call create_with_all_devices, count_outputs;

// The lists are the plug-in's own and live as long as the executable: here, for good.
void* output_memories(void* given) {
  auto* asked = static_cast<OutputMemories*>(given);
  OutputCount count{{sizeof(OutputCount)}, asked->executable, 0};
  if (void* error = count_outputs(&count)) return error;
  asked->number = count.number;
  asked->kinds = (new std::vector<const char*>(count.number, kMemory))->data();
  asked->kind_sizes = (new std::vector<size_t>(count.number, sizeof kMemory - 1))->data();
  return nullptr;
}

void* create_with_one_device(void* given) {
  auto* client = static_cast<NewClient*>(given);
  std::vector<NamedValue> options(client->options, client->options + client->number_of_options);
  options.push_back({{sizeof(NamedValue)}, kDeviceCount, sizeof kDeviceCount - 1, kInt64, 1, 1});
  auto own = std::exchange(client->options, options.data());
  auto number = std::exchange(client->number_of_options, options.size());
  void* error = create_with_all_devices(given);
  client->options = own;
  client->number_of_options = number;
  return error;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const void* GetPjrtApi() {
  static std::vector<char> api = [] {
    void* library = dlopen(std::getenv("XLA_CPU_PLUGIN"), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) std::abort();
    auto get = reinterpret_cast<const Api* (*)()>(dlsym(library, "GetPjrtApi"));
    const Api* own = get();
    std::vector<char> copy(own->struct_size);
    std::memcpy(copy.data(), own, own->struct_size);
    auto& changed = *reinterpret_cast<Api*>(copy.data());
    create_with_all_devices = std::exchange(changed.functions[kCreateClient], create_with_one_device);
    count_outputs = changed.functions[kNumberOfOutputs];
    changed.functions[kOutputMemories] = output_memories;
    if (std::getenv("XLA_CPU_PLUGIN_WITHOUT_MEMORY") == nullptr) count_memory(changed);
    return copy;
  }();
  return api.data();
}
