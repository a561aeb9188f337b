// Events are time stamps: what was put on the stream before is done when an event is recorded.
#include <chrono>
#include <cstring>

#include "acl/acl.h"
#include "acl/error_codes/rt_error_codes.h"
#include "soft_cann.h"

namespace {

struct Event {
  bool recorded = false;
  int64_t nanoseconds = 0;
};

Event &as_event(aclrtEvent event) { return *static_cast<Event *>(event); }

int64_t now() {
  auto time = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
}

}  // namespace

EXPORT aclError aclrtCreateEventWithFlag(aclrtEvent *event, uint32_t) {
  *event = new Event;
  return ACL_SUCCESS;
}

EXPORT aclError aclrtCreateEventExWithFlag(aclrtEvent *event, uint32_t flag) {
  return aclrtCreateEventWithFlag(event, flag);
}

EXPORT aclError aclrtCreateEvent(aclrtEvent *event) { return aclrtCreateEventWithFlag(event, 0); }

EXPORT aclError aclrtDestroyEvent(aclrtEvent event) {
  delete static_cast<Event *>(event);
  return ACL_SUCCESS;
}

EXPORT aclError aclrtRecordEvent(aclrtEvent event, aclrtStream) {
  if (!event) return soft_cann_fail(ACL_ERROR_RT_PARAM_INVALID, "there is no event to record");
  as_event(event) = {true, now()};
  return ACL_SUCCESS;
}

EXPORT aclError aclrtResetEvent(aclrtEvent event, aclrtStream) {
  as_event(event).recorded = false;
  return ACL_SUCCESS;
}

EXPORT aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus *status) {
  *status = as_event(event).recorded ? ACL_EVENT_RECORDED_STATUS_COMPLETE : ACL_EVENT_RECORDED_STATUS_NOT_READY;
  return ACL_SUCCESS;
}

EXPORT aclError aclrtQueryEventWaitStatus(aclrtEvent, aclrtEventWaitStatus *status) {
  *status = ACL_EVENT_WAIT_STATUS_COMPLETE;
  return ACL_SUCCESS;
}

EXPORT aclError aclrtSynchronizeEvent(aclrtEvent) { return ACL_SUCCESS; }
EXPORT aclError aclrtStreamWaitEvent(aclrtStream, aclrtEvent) { return ACL_SUCCESS; }

EXPORT aclError aclrtEventElapsedTime(float *milliseconds, aclrtEvent start, aclrtEvent end) {
  const Event &from = as_event(start), &to = as_event(end);
  if (!from.recorded || !to.recorded) return ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID;
  *milliseconds = float(double(to.nanoseconds - from.nanoseconds) * 1e-6);
  return ACL_SUCCESS;
}

EXPORT aclError aclrtEventGetTimestamp(aclrtEvent event, uint64_t *microseconds) {
  *microseconds = uint64_t(as_event(event).nanoseconds) / 1000;
  return ACL_SUCCESS;
}

EXPORT aclError aclrtIpcGetEventHandle(aclrtEvent event, aclrtIpcEventHandle *handle) {
  std::memset(handle, 0, sizeof *handle);
  std::memcpy(handle, &as_event(event).nanoseconds, sizeof(int64_t));
  return ACL_SUCCESS;
}

EXPORT aclError aclrtIpcOpenEventHandle(aclrtIpcEventHandle handle, aclrtEvent *event) {
  auto *opened = new Event{true, 0};
  std::memcpy(&opened->nanoseconds, &handle, sizeof(int64_t));
  *event = opened;
  return ACL_SUCCESS;
}
