// The settings of the software device, and each thread's current device.
#include "device/device.h"

#include "device/errors.h"
#include "operators/fallback.h"
#include "operators/kernels.h"
#include "operators/operators.h"

#include <pthread.h>

#include <atomic>

namespace software {
namespace {
thread_local c10::DeviceIndex current = 0;
std::atomic<bool> used{false}, forked{false};
std::function<void()>& first_use = *new std::function<void()>;

void after_fork() { forked = forked || used; }

}  // namespace

Settings chosen_settings;

void install(Settings wanted) {
  static std::atomic<bool> installed{false};
  TORCH_CHECK(!installed.exchange(true), "the software device is installed already");
  chosen_settings = std::move(wanted);
  pthread_atfork(nullptr, nullptr, &after_fork);
  bool displaced = displace_kernels();
  if (displaced && install_operators) install_operators();  // first: what the others install comes before these
  install_memory();
  install_guard();
  install_hooks();
  install_storage_operators();
  install_casts();
  install_sparse();
  install_nested();
  install_indexing();
  if (settings().type == c10::DeviceType::CUDA)
    for (torch::Library& library = library_for(backend_key()); Kernels each : cudas_kernels()) each(library);
  install_products_of_halves();
  install_neural_operators();
  install_recurrent_networks();
  install_attention();
  install_profiler();
  install_allocator_settings();
  install_pinned_memory();
  install_autocast();
  if (!displaced && install_operators) install_operators();
  install_fallback();  // last: it fills what the others leave
}

void initialize() {
  TORCH_CHECK(!forked, "Cannot re-initialize ", settings().title, " in forked subprocess. To use ", settings().title,
              " with multiprocessing, you must use the 'spawn' start method");
  if (!used && !used.exchange(true) && first_use) first_use();
}

void set_visible_devices(std::vector<int> numbers) {
  TORCH_CHECK(!used, "the number of devices is settled when one is used");
  chosen_settings.count = c10::DeviceIndex(numbers.size());
  chosen_settings.numbers = std::move(numbers);
}

void when_initialized(std::function<void()> callback) { first_use = std::move(callback); }

bool is_initialized() { return used; }
bool is_in_bad_fork() { return forked; }

c10::Device device(c10::DeviceIndex index) { return c10::Device(settings().type, index); }

bool known_to_torch() { return settings().type != c10::DeviceType::PrivateUse1; }

c10::DispatchKey backend_key() {
  switch (settings().type) {
    case c10::DeviceType::XPU: return c10::DispatchKey::XPU;
    case c10::DeviceType::CUDA: return c10::DispatchKey::CUDA;
    default: return c10::DispatchKey::PrivateUse1;
  }
}

c10::DispatchKey autograd_key() {
  switch (settings().type) {
    case c10::DeviceType::XPU: return c10::DispatchKey::AutogradXPU;
    case c10::DeviceType::CUDA: return c10::DispatchKey::AutogradCUDA;
    default: return c10::DispatchKey::AutogradPrivateUse1;
  }
}

c10::DispatchKey sparse_key(bool compressed) {
  switch (settings().type) {
    case c10::DeviceType::XPU: return compressed ? c10::DispatchKey::SparseCsrXPU : c10::DispatchKey::SparseXPU;
    case c10::DeviceType::CUDA: return compressed ? c10::DispatchKey::SparseCsrCUDA : c10::DispatchKey::SparseCUDA;
    default: return compressed ? c10::DispatchKey::SparseCsrPrivateUse1 : c10::DispatchKey::SparsePrivateUse1;
  }
}

c10::DeviceIndex current_device() { return current; }

c10::DeviceIndex other_or_refused(c10::DeviceIndex index) {
  if (index == -1) return current;
  if (settings().type == c10::DeviceType::CUDA) refuse(kInvalidDevice);
  TORCH_CHECK(!known_to_torch(), "The device index is out of range. It must be in [0, ", int(settings().count),
              "), but got ", int(index), ".");
  TORCH_CHECK(false, "Invalid device ID: ", settings().title, " ", int(index), " of ", int(settings().count));
}

void set_current_device(c10::DeviceIndex index) { current = checked(index); }

OnDevice::OnDevice(c10::DeviceIndex index) : previous_(current) { current = checked(index); }
OnDevice::~OnDevice() { current = previous_; }

}  // namespace software
