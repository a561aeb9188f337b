// The objects that operators are given: tensors, scalars, and lists of them.
#include "operators/interface.h"
#include "runtime/capture.h"

namespace soft_cann {

at::ScalarType scalar_type(int acl_type) {
  switch (acl_type) {
    case ACL_FLOAT: return at::kFloat;
    case ACL_FLOAT16: return at::kHalf;
    case ACL_BF16: return at::kBFloat16;
    case ACL_DOUBLE: return at::kDouble;
    case ACL_INT8: return at::kChar;
    case ACL_INT16: return at::kShort;
    case ACL_INT32: return at::kInt;
    case ACL_INT64: return at::kLong;
    case ACL_UINT8: return at::kByte;
    case ACL_UINT16: return at::kUInt16;
    case ACL_UINT32: return at::kUInt32;
    case ACL_UINT64: return at::kUInt64;
    case ACL_BOOL: return at::kBool;
    case ACL_COMPLEX32: return at::kComplexHalf;
    case ACL_COMPLEX64: return at::kComplexFloat;
    case ACL_COMPLEX128: return at::kComplexDouble;
    default: TORCH_CHECK(false, "aclDataType ", acl_type, " has no equal in torch");
  }
}

int run(const std::string &name, const std::function<void()> &kernel) {
  c10::InferenceMode no_autograd;
  try {
    kernel();
    if (Graph *graph = captured_graph()) graph->add([kernel] {
      c10::InferenceMode no_autograd;
      kernel();
    });
    return 0;
  } catch (const c10::Error &error) {
    return soft_cann_fail(kKernelFailed, "%s: %s", name.c_str(), error.what_without_backtrace());
  } catch (const std::exception &error) {
    return soft_cann_fail(kKernelFailed, "%s: %s", name.c_str(), error.what());
  }
}

Tensor target(TensorArgument argument) {
  const Tensor &tensor = argument->value;
  if (Graph *graph = captured_graph())
    graph->preserve(tensor.mutable_data_ptr(), at::detail::computeStorageNbytes(tensor.sizes(), tensor.strides(),
                                                                                tensor.element_size()));
  return tensor;
}

namespace {

Tensor view_memory(const int64_t *sizes, uint64_t count, const int64_t *strides, int64_t offset, int acl_type,
                   void *data) {
  auto type = scalar_type(acl_type);
  char *start = static_cast<char *>(data) + offset * int64_t(c10::elementSize(type));
  at::IntArrayRef shape(sizes, count);
  return strides ? at::from_blob(start, shape, at::IntArrayRef(strides, count), type)
                 : at::from_blob(start, shape, type);
}

// What a captured kernel was given must live as long as its graph.
template <class Object>
int destroy(const Object *object) {
  if (Graph *graph = captured_graph())
    graph->at_the_end([object] { delete object; });
  else
    delete object;
  return 0;
}

template <class List>
int destroy_with_elements(const List *list) {
  if (list)
    for (auto *element : list->values) destroy(element);
  return destroy(list);
}

}  // namespace
}  // namespace soft_cann

using namespace soft_cann;

EXPORT aclTensor *aclCreateTensor(const int64_t *sizes, uint64_t count, aclDataType type, const int64_t *strides,
                                  int64_t offset, aclFormat, const int64_t *, uint64_t, void *data) {
  try {
    return new aclTensor{view_memory(sizes, count, strides, offset, type, data)};
  } catch (const std::exception &error) {
    soft_cann_fail(kInvalidTensor, "aclCreateTensor: %s", error.what());
    return new aclTensor{};  // an operator that uses it raises
  }
}

EXPORT aclScalar *aclCreateScalar(void *value, aclDataType type) {
  return new aclScalar{at::from_blob(value, {}, scalar_type(type)).item()};
}

EXPORT aclIntArray *aclCreateIntArray(const int64_t *values, uint64_t count) {
  return new aclIntArray{{values, values + count}};
}

EXPORT aclBoolArray *aclCreateBoolArray(const bool *values, uint64_t count) {
  return new aclBoolArray{{values, values + count}};
}

EXPORT aclTensorList *aclCreateTensorList(const aclTensor *const *values, uint64_t count) {
  return new aclTensorList{{values, values + count}};
}

EXPORT aclScalarList *aclCreateScalarList(const aclScalar *const *values, uint64_t count) {
  return new aclScalarList{{values, values + count}};
}

EXPORT int aclDestroyTensor(const aclTensor *tensor) { return destroy(tensor); }
EXPORT int aclDestroyScalar(const aclScalar *scalar) { return destroy(scalar); }
EXPORT int aclDestroyIntArray(const aclIntArray *array) { return destroy(array); }
EXPORT int aclDestroyBoolArray(const aclBoolArray *array) { return destroy(array); }
EXPORT int aclDestroyTensorList(const aclTensorList *list) { return destroy_with_elements(list); }
EXPORT int aclDestroyScalarList(const aclScalarList *list) { return destroy_with_elements(list); }
EXPORT int aclDestroyAclOpExecutor(aclOpExecutor *executor) { return destroy(executor); }
