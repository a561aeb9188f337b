// The two-phase interface of aclnn operators: aclnnXGetWorkspaceSize() makes an executor, aclnnX() runs it.
#pragma once

#include <ATen/ATen.h>

#include <functional>
#include <string>
#include <vector>

#include "acl/acl_base.h"
#include "soft_cann.h"

struct aclTensor {
  at::Tensor value;  // on the CPU, over the device's memory; undefined where the operator has none
};
struct aclScalar {
  at::Scalar value;
};
struct aclIntArray {
  std::vector<int64_t> values;
};
struct aclBoolArray {
  std::vector<uint8_t> values;
};
struct aclTensorList {
  std::vector<const aclTensor *> values;
};
struct aclScalarList {
  std::vector<const aclScalar *> values;
};
struct aclOpExecutor {
  std::string name;
  std::function<void()> kernel;
};

namespace soft_cann {

using at::Tensor;
using TensorArgument = const aclTensor *;
using ScalarArgument = const aclScalar *;
using IntsArgument = const aclIntArray *;
using TensorsArgument = const aclTensorList *;

constexpr int kInvalidTensor = 161001;
constexpr int kKernelFailed = 361001;

at::ScalarType scalar_type(int acl_type);

// Runs a kernel, and records it when a graph is captured; an exception becomes an error code and a message.
int run(const std::string &name, const std::function<void()> &kernel);

inline bool present(TensorArgument argument) { return argument && argument->value.defined(); }
inline bool has_elements(TensorArgument argument) { return present(argument) && argument->value.numel() > 0; }

// The tensor that an operator writes to, which it is given as const.
Tensor target(TensorArgument argument);

// Results go where the caller says, whatever their type and strides.
inline void put(TensorArgument out, const Tensor &value) { target(out).copy_(value); }

inline Tensor as_float(TensorArgument argument) { return argument->value.to(at::kFloat); }

}  // namespace soft_cann

// OPERATOR(symbol, (parameters), statements): both phases of an operator, whose kernel are the statements.
// A parameter called `layout_text` does not live until the second phase, so the first copies it to `layout`.
static const char *const layout_text = nullptr;
#define PARAMETERS(...) __VA_ARGS__
#define OPERATOR(symbol, parameters, ...)                                                                     \
  EXPORT int symbol##GetWorkspaceSize(PARAMETERS parameters, uint64_t *workspace, aclOpExecutor **executor) { \
    const std::string layout = layout_text ? layout_text : "";                                                \
    *workspace = 0;                                                                                           \
    *executor = new aclOpExecutor{#symbol, [=]() { __VA_ARGS__; }};                                           \
    return 0;                                                                                                 \
  }                                                                                                           \
  EXPORT int symbol(void *, uint64_t, aclOpExecutor *executor, void *) {                                      \
    const std::unique_ptr<aclOpExecutor> owned(executor);                                                     \
    return soft_cann::run(owned->name, owned->kernel);                                                        \
  }
