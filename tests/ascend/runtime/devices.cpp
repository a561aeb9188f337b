// Devices and their contexts: one context for each device.
#include "runtime/devices.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <vector>

#include "acl/acl.h"
#include "acl/error_codes/rt_error_codes.h"
#include "soft_cann.h"

namespace soft_cann {
namespace {

struct Context {
  bool active = false;
};
std::array<Context, kMostDevices> contexts;
thread_local int chosen_device = -1;
int default_device = -1;

// As the real runtime reads it: a list in ascending order, cut at the first entry that is no device.
std::vector<int> visible_devices(const char *list, int present) {
  std::vector<int> found;
  for (char *end; *list; list = *end == ',' ? end + 1 : "") {
    long device = std::strtol(list, &end, 10);
    if (end == list || device < 0 || device >= present) break;
    if (!found.empty() && device <= found.back()) return {};
    found.push_back(int(device));
  }
  return found;
}

// The places in the machine of the devices that this process sees. Like the real runtime, it reads the variable once.
const std::vector<int> &places() {
  static const std::vector<int> found = [] {
    std::vector<int> all(std::min(int(setting("SOFT_CANN_DEVICES", 2L)), kMostDevices));
    std::iota(all.begin(), all.end(), 0);
    const char *visible = std::getenv("ASCEND_RT_VISIBLE_DEVICES");
    return visible ? visible_devices(visible, int(all.size())) : all;
  }();
  return found;
}

}  // namespace

int device_count() { return int(places().size()); }
int place_of(uint32_t device) { return device < places().size() ? places()[device] : -1; }

int current_device() { return chosen_device >= 0 ? chosen_device : default_device; }
size_t device_memory() { return size_t(setting("SOFT_CANN_MEMORY_MB", 65536L)) << 20; }
void set_default_device(int device) { default_device = device; }

}  // namespace soft_cann

using namespace soft_cann;

EXPORT aclError aclrtGetDeviceCount(uint32_t *count) {
  *count = uint32_t(device_count());
  return *count ? ACL_SUCCESS : soft_cann_fail(ACL_ERROR_RT_NO_DEVICE, "there is no device");
}

EXPORT aclError aclrtSetDevice(int32_t device) {
  if (!is_device(device))
    return soft_cann_fail(ACL_ERROR_RT_INVALID_DEVICEID, "device %d of %d", device, device_count());
  contexts[device].active = true;
  chosen_device = device;
  return ACL_SUCCESS;
}

EXPORT aclError aclrtGetDevice(int32_t *device) {
  if (current_device() < 0) return ACL_ERROR_RT_CONTEXT_NULL;
  *device = current_device();
  return ACL_SUCCESS;
}

EXPORT aclError aclrtResetDevice(int32_t device) {
  if (is_device(device)) contexts[device].active = false;
  if (chosen_device == device) chosen_device = -1;
  return ACL_SUCCESS;
}

EXPORT aclError aclrtGetCurrentContext(aclrtContext *context) {
  if (current_device() < 0) return ACL_ERROR_RT_CONTEXT_NULL;
  *context = &contexts[current_device()];
  return ACL_SUCCESS;
}

EXPORT aclError aclrtSetCurrentContext(aclrtContext context) {
  if (!context) return ACL_ERROR_RT_CONTEXT_NULL;
  chosen_device = int(static_cast<Context *>(context) - contexts.data());
  return ACL_SUCCESS;
}

EXPORT aclError aclrtGetPrimaryCtxState(int32_t device, uint32_t *flags, int32_t *active) {
  if (flags) *flags = 0;
  *active = is_device(device) && contexts[device].active;
  return ACL_SUCCESS;
}

EXPORT aclError aclrtGetLogicDevIdByUserDevId(const int32_t user, int32_t *const logical) {
  *logical = user;
  return ACL_SUCCESS;
}

EXPORT aclError aclrtDeviceCanAccessPeer(int32_t *can, int32_t device, int32_t peer) {
  *can = device != peer;
  return ACL_SUCCESS;
}

EXPORT aclError aclrtDeviceEnablePeerAccess(int32_t, uint32_t) { return ACL_SUCCESS; }

EXPORT aclError aclrtDeviceGetBareTgid(int32_t *process) {
  *process = getpid();
  return ACL_SUCCESS;
}

EXPORT aclError aclrtDeviceGetUuid(int32_t device, aclrtUuid *uuid) {
  std::memset(uuid, 0, sizeof *uuid);
  std::memcpy(uuid->bytes, "softascend-npu-", 15);
  uuid->bytes[15] = char('0' + device);
  return ACL_SUCCESS;
}
