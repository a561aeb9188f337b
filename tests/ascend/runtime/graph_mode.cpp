// The graph-mode interface up to the kernel, which is in operators/graph_mode.cpp.
#include "runtime/graph_mode.h"

#include <cstdio>

#include "acl/acl_op_compiler.h"
#include "soft_cann.h"

EXPORT aclDataBuffer *aclCreateDataBuffer(void *data, size_t size) { return new aclDataBuffer{data, size}; }

EXPORT aclError aclDestroyDataBuffer(const aclDataBuffer *buffer) {
  delete buffer;
  return ACL_SUCCESS;
}

EXPORT aclTensorDesc *aclCreateTensorDesc(aclDataType type, int count, const int64_t *sizes, aclFormat format) {
  return count < 0 ? nullptr : new aclTensorDesc{type, format, {sizes, sizes + count}};
}

EXPORT void aclDestroyTensorDesc(const aclTensorDesc *tensor) { delete tensor; }
EXPORT aclDataType aclGetTensorDescType(const aclTensorDesc *tensor) { return tensor->type; }
EXPORT aclFormat aclGetTensorDescFormat(const aclTensorDesc *tensor) { return tensor->format; }
EXPORT size_t aclGetTensorDescNumDims(const aclTensorDesc *tensor) { return tensor->sizes.size(); }

EXPORT aclError aclGetTensorDescDimV2(const aclTensorDesc *tensor, size_t index, int64_t *size) {
  if (index >= tensor->sizes.size()) return ACL_ERROR_INVALID_PARAM;
  *size = tensor->sizes[index];
  return ACL_SUCCESS;
}

EXPORT void aclSetTensorDescName(aclTensorDesc *, const char *) {}
EXPORT aclError aclSetTensorFormat(aclTensorDesc *, aclFormat) { return ACL_SUCCESS; }
EXPORT aclError aclSetTensorShape(aclTensorDesc *, int, const int64_t *) { return ACL_SUCCESS; }
EXPORT aclError aclSetTensorPlaceMent(aclTensorDesc *, aclMemType) { return ACL_SUCCESS; }

EXPORT aclopAttr *aclopCreateAttr() { return new aclopAttr; }
EXPORT void aclopDestroyAttr(const aclopAttr *attributes) { delete attributes; }

EXPORT aclError aclopSetAttrString(aclopAttr *attributes, const char *name, const char *value) {
  attributes->strings[name] = value;
  return ACL_SUCCESS;
}

EXPORT aclError aclopSetAttrInt(aclopAttr *attributes, const char *name, int64_t value) {
  attributes->numbers[name] = value;
  return ACL_SUCCESS;
}

EXPORT aclError aclopSetAttrBool(aclopAttr *, const char *, uint8_t) { return ACL_SUCCESS; }
EXPORT aclError aclopSetAttrFloat(aclopAttr *, const char *, float) { return ACL_SUCCESS; }
EXPORT aclError aclopSetAttrDataType(aclopAttr *, const char *, aclDataType) { return ACL_SUCCESS; }
EXPORT aclError aclopSetAttrListBool(aclopAttr *, const char *, int, const uint8_t *) { return ACL_SUCCESS; }
EXPORT aclError aclopSetAttrListInt(aclopAttr *, const char *, int, const int64_t *) { return ACL_SUCCESS; }
EXPORT aclError aclopSetAttrListFloat(aclopAttr *, const char *, int, const float *) { return ACL_SUCCESS; }

EXPORT aclError aclopSetAttrListListInt(aclopAttr *, const char *, int, const int *, const int64_t *const *) {
  return ACL_SUCCESS;
}

EXPORT aclError aclSetCompileopt(aclCompileOpt, const char *) { return ACL_SUCCESS; }
EXPORT size_t aclGetCompileoptSize(aclCompileOpt) { return sizeof "disable"; }

EXPORT aclError aclGetCompileopt(aclCompileOpt, char *value, size_t room) {
  std::snprintf(value, room, "disable");
  return ACL_SUCCESS;
}

EXPORT aclError aclmdlInitDump() { return ACL_SUCCESS; }
EXPORT aclError aclmdlFinalizeDump() { return ACL_SUCCESS; }

EXPORT aclError aclopCompileAndExecute(const char *name, int input_count, const aclTensorDesc *const inputs[],
                                       const aclDataBuffer *const input_data[], int,
                                       const aclTensorDesc *const outputs[], aclDataBuffer *const output_data[],
                                       const aclopAttr *attributes, aclopEngineType, aclopCompileType,
                                       const char *, aclrtStream) {
  return soft_cann::run_graph_mode({name, input_count, inputs, input_data, outputs, output_data, attributes});
}
