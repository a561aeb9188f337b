// See cublas.h.
#include "device/cublas.h"

#include "device/captures.h"
#include "device/device.h"

#include <c10/util/Exception.h>

#include <array>
#include <bitset>
#include <mutex>

namespace software {
namespace {

constexpr size_t kMostDevices = 256;  // of c10::DeviceIndex

std::mutex handles_mutex;
std::array<int, kMostDevices> unused_handles{};  // handles of threads that have ended

struct HandlesOfThread {
  std::bitset<kMostDevices> has;
  ~HandlesOfThread() {
    std::lock_guard lock(handles_mutex);
    for (size_t each = 0; each < kMostDevices; each++) unused_handles[each] += has[each];
  }
};

void make_handle(size_t device) {
  std::lock_guard lock(handles_mutex);
  if (unused_handles[device]) {
    unused_handles[device]--;
  } else if (break_off_unsafe()) {
    TORCH_CHECK(false, settings().title, " error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`");
  }
}

}  // namespace

void need_cublas(c10::DeviceIndex device) {
  thread_local HandlesOfThread handles;
  size_t index = uint8_t(device);
  if (handles.has[index]) [[likely]] return;
  make_handle(index);
  handles.has.set(index);
}

}  // namespace software
