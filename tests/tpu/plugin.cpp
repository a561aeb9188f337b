// A PJRT plug-in for torch_tpu: XLA's for the CPU, of whose devices a process gets one, as of a host's TPUs.
// It makes four unless its client is created with the option cpu_device_count, which torch_tpu 0.2.0 does not
// give. It tells the memory of an executable's outputs, which torch.compile asks for and XLA's for the CPU does
// not tell: there is one kind. The layouts are those of PJRT's C interface, which only grows at the end (xla/pjrt/c/pjrt_c_api.h).

#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

namespace {

struct NamedValue {
  size_t struct_size;
  void* extensions;
  const char* name;
  size_t name_size;
  int type;
  int64_t value;
  size_t value_size;
};

struct ClientArguments {
  size_t struct_size;
  void* extensions;
  const NamedValue* options;
  size_t number_of_options;
};

struct OutputCount {
  size_t struct_size;
  void* extensions;
  void* executable;
  size_t number;
};

struct OutputMemories {
  size_t struct_size;
  void* extensions;
  void* executable;
  size_t number;
  const char* const* kinds;
  const size_t* kind_sizes;
};

using Create = void* (*)(ClientArguments*);
using CountOutputs = void* (*)(OutputCount*);

struct Api {
  size_t struct_size;
  void* extensions;
  struct {
    size_t struct_size;
    void* extensions;
    int major, minor;
  } version;
  void* before_create[10];  // errors, the plug-in and events
  Create create;
  void* before_outputs[33];  // the client, devices, memories and what else an executable tells
  CountOutputs count_outputs;
  void* size_and_costs[2];
  void* (*output_memories)(OutputMemories*);
};

constexpr int kInt64 = 1;
constexpr char kDeviceCount[] = "cpu_device_count";
constexpr char kMemory[] = "device";
Create create_with_all_devices;
CountOutputs count_outputs;

// The lists are the plug-in's own and live as long as the executable: here, for good.
void* output_memories(OutputMemories* asked) {
  OutputCount count{sizeof(OutputCount), nullptr, asked->executable, 0};
  if (void* error = count_outputs(&count)) return error;
  asked->number = count.number;
  asked->kinds = (new std::vector<const char*>(count.number, kMemory))->data();
  asked->kind_sizes = (new std::vector<size_t>(count.number, sizeof kMemory - 1))->data();
  return nullptr;
}

void* create_with_one_device(ClientArguments* given) {
  std::vector<NamedValue> options(given->options, given->options + given->number_of_options);
  options.push_back({sizeof(NamedValue), nullptr, kDeviceCount, sizeof kDeviceCount - 1, kInt64, 1, 1});
  auto own = std::exchange(given->options, options.data());
  auto number = std::exchange(given->number_of_options, options.size());
  void* error = create_with_all_devices(given);
  given->options = own;
  given->number_of_options = number;
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
    auto* changed = reinterpret_cast<Api*>(copy.data());
    create_with_all_devices = changed->create;
    changed->create = create_with_one_device;
    count_outputs = changed->count_outputs;
    changed->output_memories = output_memories;
    return copy;
  }();
  return api.data();
}
