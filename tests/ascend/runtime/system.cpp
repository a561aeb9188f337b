// The start and end of the runtime, and its versions.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

#include "acl/acl.h"
#include "runtime/devices.h"
#include "soft_cann.h"

using soft_cann::setting;

namespace {

bool initialized = false;

const char *driver_version() { return setting("SOFT_CANN_DRIVER", "25.5.0"); }
const char *cann_version() { return setting("SOFT_CANN_VERSION", "8.5.0"); }

// torch_npu writes {"defaultDevice": {"default_device": "0"}} or leaves it out.
bool names_default_device(const char *path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str().find("defaultDevice") != std::string::npos;
}

constexpr aclCannAttr kAttributes[] = {ACL_CANN_ATTR_INF_NAN, ACL_CANN_ATTR_BF16, ACL_CANN_ATTR_JIT_COMPILE};

}  // namespace

EXPORT aclError aclInit(const char *configuration) {
  if (initialized) return ACL_ERROR_REPEAT_INITIALIZE;
  initialized = true;
  soft_cann::install_kernels();
  if (configuration && names_default_device(configuration)) soft_cann::set_default_device(0);
  return ACL_SUCCESS;
}

EXPORT aclError aclFinalize() {
  initialized = false;
  return ACL_SUCCESS;
}

EXPORT aclError aclsysGetCANNVersion(aclCANNPackageName package, aclCANNPackageVersion *version) {
  const char *text = package == ACL_PKG_NAME_DRIVER ? driver_version() : cann_version();
  std::memset(version, 0, sizeof *version);
  std::snprintf(version->version, sizeof version->version, "%s", text);
  std::sscanf(text, "%63[^.].%63[^.].%63[^.].%63s", version->majorVersion, version->minorVersion,
              version->releaseVersion, version->patchVersion);
  return ACL_SUCCESS;
}

EXPORT aclError aclsysGetVersionStr(char *package, char *version) {
  std::strcpy(version, package && !std::strcmp(package, "driver") ? driver_version() : cann_version());
  return ACL_SUCCESS;
}

EXPORT aclError aclGetCannAttributeList(const aclCannAttr **list, size_t *count) {
  *list = kAttributes;
  *count = std::size(kAttributes);
  return ACL_SUCCESS;
}

EXPORT aclError aclGetCannAttribute(aclCannAttr attribute, int32_t *value) {
  *value = attribute != ACL_CANN_ATTR_JIT_COMPILE;
  return ACL_SUCCESS;
}
