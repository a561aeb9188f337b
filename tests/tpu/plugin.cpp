// A PJRT plug-in for torch_tpu: XLA's for the CPU, of whose devices a process gets one, as of a host's TPUs.
// It makes four unless its client is created with the option cpu_device_count, which torch_tpu 0.2.0 does not
// give. The layouts are those of PJRT's C interface, which only grows at the end (xla/pjrt/c/pjrt_c_api.h).

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

using Create = void* (*)(ClientArguments*);

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
};

constexpr int kInt64 = 1;
constexpr char kDeviceCount[] = "cpu_device_count";
Create create_with_all_devices;

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
    return copy;
  }();
  return api.data();
}
