// Capturing a stream into a graph: there is none. torch_npu asks before it allocates, so the question must
// be answered; aclmdlRICaptureBegin() is absent on purpose, and NPUGraph then fails by that name.
#include "acl/acl.h"
#include "soft_cann.h"

EXPORT aclError aclmdlRICaptureGetInfo(aclrtStream, aclmdlRICaptureStatus *status, aclmdlRI *graph) {
  *status = ACL_MODEL_RI_CAPTURE_STATUS_NONE;
  if (graph) *graph = nullptr;
  return ACL_SUCCESS;
}

EXPORT aclError aclmdlRICaptureThreadExchangeMode(aclmdlRICaptureMode *) { return ACL_SUCCESS; }
