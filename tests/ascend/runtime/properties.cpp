// What a device says of itself: the figures of an Ascend 910B1.
#include "acl/acl.h"
#include "runtime/devices.h"
#include "soft_cann.h"

namespace {

constexpr int64_t kCubeCores = 24;
constexpr int64_t kVectorCores = 48;
constexpr int64_t kVectorWidth = 32;
constexpr int64_t kLocalMemory = 192 << 10;
constexpr int kLocalMemoryOfVectorCore = 204;  // an attribute with another name in older releases
constexpr int64_t kL2Cache = 192ll << 20;

int64_t system_options[8];

uint32_t core_limit(aclrtDevResLimitType type) {
  return uint32_t(type == ACL_RT_DEV_RES_CUBE_CORE ? kCubeCores : kVectorCores);
}

}  // namespace

EXPORT const char *aclrtGetSocName() { return soft_cann::setting("SOFT_CANN_SOC", "Ascend910B1"); }

EXPORT aclError aclrtGetDeviceUtilizationRate(int32_t, aclrtUtilizationInfo *rate) {
  rate->cubeUtilization = rate->vectorUtilization = rate->aicpuUtilization = rate->memoryUtilization = 0;
  return ACL_SUCCESS;
}

EXPORT aclError aclGetDeviceCapability(uint32_t, aclDeviceInfo info, int64_t *value) {
  *value = info == ACL_DEVICE_INFO_AI_CORE_NUM       ? kCubeCores
           : info == ACL_DEVICE_INFO_VECTOR_CORE_NUM ? kVectorCores
                                                     : kL2Cache;
  return ACL_SUCCESS;
}

EXPORT aclError aclrtGetDeviceInfo(uint32_t device, aclrtDevAttr attribute, int64_t *value) {
  switch (int(attribute)) {
    case ACL_DEV_ATTR_AICPU_CORE_NUM: *value = 6; break;
    case ACL_DEV_ATTR_AICORE_CORE_NUM:
    case ACL_DEV_ATTR_CUBE_CORE_NUM: *value = kCubeCores; break;
    case ACL_DEV_ATTR_VECTOR_CORE_NUM: *value = kVectorCores; break;
    case ACL_DEV_ATTR_WARP_SIZE: *value = kVectorWidth; break;
    case kLocalMemoryOfVectorCore: *value = kLocalMemory; break;
    case ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE: *value = int64_t(soft_cann::device_memory()); break;
    case ACL_DEV_ATTR_L2_CACHE_SIZE: *value = kL2Cache; break;
    case ACL_DEV_ATTR_PHY_CHIP_ID: *value = soft_cann::place_of(device); break;
    default: *value = 0;
  }
  return ACL_SUCCESS;
}

EXPORT aclError aclrtGetDeviceResLimit(int32_t, aclrtDevResLimitType type, uint32_t *value) {
  *value = core_limit(type);
  return ACL_SUCCESS;
}

EXPORT aclError aclrtGetStreamResLimit(aclrtStream, aclrtDevResLimitType type, uint32_t *value) {
  *value = core_limit(type);
  return ACL_SUCCESS;
}

EXPORT aclError aclrtGetResInCurrentThread(aclrtDevResLimitType type, uint32_t *value) {
  *value = core_limit(type);
  return ACL_SUCCESS;
}

EXPORT aclError aclrtSetDeviceSatMode(aclrtFloatOverflowMode) { return ACL_SUCCESS; }
EXPORT aclError aclrtSetOpExecuteTimeOut(uint32_t) { return ACL_SUCCESS; }
EXPORT aclError aclrtSetOpWaitTimeout(uint32_t) { return ACL_SUCCESS; }
EXPORT aclError aclrtCtxSetSysParamOpt(aclSysParamOpt, int64_t) { return ACL_SUCCESS; }

EXPORT aclError aclrtSetOpExecuteTimeOutV2(uint64_t timeout, uint64_t *actual) {
  *actual = timeout;
  return ACL_SUCCESS;
}

EXPORT aclError aclrtSetSysParamOpt(aclSysParamOpt option, int64_t value) {
  system_options[option & 7] = value;
  return ACL_SUCCESS;
}

EXPORT aclError aclrtGetSysParamOpt(aclSysParamOpt option, int64_t *value) {
  *value = system_options[option & 7];
  return ACL_SUCCESS;
}
