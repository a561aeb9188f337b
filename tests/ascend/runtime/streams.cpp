// Streams. What is put on one is done at once by the thread that puts it, so a stream is always idle.
#include <unistd.h>

#include <atomic>

#include "acl/acl.h"
#include "acl/error_codes/rt_error_codes.h"
#include "runtime/devices.h"
#include "soft_cann.h"

namespace {

struct Stream {
  int id;
};
std::atomic<int> streams_created{0};

}  // namespace

EXPORT aclError aclrtCreateStreamWithConfig(aclrtStream *stream, uint32_t, uint32_t) {
  if (soft_cann::current_device() < 0) return ACL_ERROR_RT_CONTEXT_NULL;
  *stream = new Stream{++streams_created};
  return ACL_SUCCESS;
}

EXPORT aclError aclrtCreateStream(aclrtStream *stream) { return aclrtCreateStreamWithConfig(stream, 0, 0); }

EXPORT aclError aclrtDestroyStream(aclrtStream stream) {
  if (!stream) return soft_cann_fail(ACL_ERROR_RT_PARAM_INVALID, "the default stream cannot be destroyed");
  delete static_cast<Stream *>(stream);
  return ACL_SUCCESS;
}

EXPORT aclError aclrtDestroyStreamForce(aclrtStream stream) { return aclrtDestroyStream(stream); }

EXPORT aclError aclrtStreamGetId(aclrtStream stream, int32_t *id) {
  *id = stream ? static_cast<Stream *>(stream)->id : 0;
  return ACL_SUCCESS;
}

EXPORT aclError aclrtStreamQuery(aclrtStream, aclrtStreamStatus *status) {
  *status = ACL_STREAM_STATUS_COMPLETE;
  return ACL_SUCCESS;
}

EXPORT aclError aclrtSynchronizeDevice() {
  return soft_cann::current_device() < 0 ? ACL_ERROR_RT_CONTEXT_NULL : ACL_SUCCESS;
}

EXPORT aclError aclrtSynchronizeDeviceWithTimeout(int32_t) { return aclrtSynchronizeDevice(); }
EXPORT aclError aclrtSynchronizeStream(aclrtStream) { return ACL_SUCCESS; }
EXPORT aclError aclrtSynchronizeStreamWithTimeout(aclrtStream, int32_t) { return ACL_SUCCESS; }

EXPORT aclError aclrtSetStreamFailureMode(aclrtStream, uint64_t) { return ACL_SUCCESS; }
EXPORT aclError aclrtSetStreamOverflowSwitch(aclrtStream, uint32_t) { return ACL_SUCCESS; }

EXPORT aclError aclrtSetStreamAttribute(aclrtStream, aclrtStreamAttr, aclrtStreamAttrValue *) {
  return ACL_SUCCESS;
}

EXPORT aclError aclrtGetStreamOverflowSwitch(aclrtStream, uint32_t *on) {
  *on = 0;
  return ACL_SUCCESS;
}

EXPORT aclError aclrtLaunchHostFunc(aclrtStream, aclrtHostFunc function, void *argument) {
  function(argument);
  return ACL_SUCCESS;
}

EXPORT aclError aclrtLaunchCallback(aclrtCallback function, void *argument, aclrtCallbackBlockType, aclrtStream) {
  function(argument);
  return ACL_SUCCESS;
}

EXPORT aclError aclrtSubscribeReport(uint64_t, aclrtStream) { return ACL_SUCCESS; }
EXPORT aclError aclrtUnSubscribeReport(uint64_t, aclrtStream) { return ACL_SUCCESS; }

// torch_npu calls this in a loop on a thread of its own; there is never a report.
EXPORT aclError aclrtProcessReport(int32_t milliseconds) {
  usleep((milliseconds > 0 ? unsigned(milliseconds) : 1000u) * 1000u);
  return ACL_SUCCESS;
}
