// cuBLASLt's product of matrices.
#include "blas_lt.h"

#include <ATen/ops/matmul.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cstring>

struct morph_cublasLtLayout {
  cudaDataType type;
  uint64_t rows, columns;
  int64_t leading;
  cublasLtOrder_t order = CUBLASLT_ORDER_COL;
  int32_t batch = 1;
  int64_t stride = 0;
};

namespace morph_cuda::blas {
namespace {

// What is in the memory that a program sees.
morph_cublasLtDesc& held(cublasLtMatmulDesc_t desc) {
  static_assert(sizeof(morph_cublasLtDesc) <= sizeof desc->data);
  return *reinterpret_cast<morph_cublasLtDesc*>(desc->data);
}
morph_cublasLtLayout& held(cublasLtMatrixLayout_t layout) {
  static_assert(sizeof(morph_cublasLtLayout) <= sizeof layout->data);
  return *reinterpret_cast<morph_cublasLtLayout*>(layout->data);
}

template <class T>
cublasStatus_t read(T* into, const void* value, size_t size) {
  if (!value || size < sizeof(T)) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(into, value, sizeof(T));
  return CUBLAS_STATUS_SUCCESS;
}

at::Tensor matrices(const void* data, const morph_cublasLtLayout& layout, bool is_written = false) {
  bool by_rows = layout.order == CUBLASLT_ORDER_ROW;
  Matrix all{data, torchs(layout.type), layout.leading, by_rows ? CUBLAS_OP_T : CUBLAS_OP_N, is_written};
  auto rows = int64_t(layout.rows), columns = int64_t(layout.columns);
  return layout.batch == 1 ? all.tensor(rows, columns) : all.tensors(layout.batch, layout.stride, rows, columns);
}
at::Tensor transposed(const at::Tensor& all, cublasOperation_t op) {
  at::Tensor turned = op == CUBLAS_OP_N ? all : all.transpose(-2, -1);
  return op == CUBLAS_OP_C ? turned.conj().resolve_conj() : turned;
}

// What a sum is multiplied by: a number, or one for each row.
at::Tensor factors(const void* from, bool for_each_row, const morph_cublasLtDesc& desc, int64_t rows, c10::ScalarType as) {
  c10::ScalarType type = torchs(desc.scale);
  if (!for_each_row) return vector(from, type, 1, 1).to(as);
  return vector(from, type, rows, 1).to(as).unsqueeze(-1);
}

void multiply(const morph_cublasLtDesc& desc, const at::Tensor& a, const at::Tensor& b, const void* alpha, const void* beta,
              const void* c, const morph_cublasLtLayout& layout_c, at::Tensor d) {
  bool is_complex = a.is_complex(), is_wide = !is_complex && (a.scalar_type() == c10::kDouble || a.scalar_type() == c10::kChar);
  auto numbers = is_complex ? a.scalar_type() : is_wide ? c10::kDouble : c10::kFloat;
  at::Tensor left = transposed(a, desc.op_a).to(numbers), right = transposed(b, desc.op_b).to(numbers);
  at::Tensor sum = at::matmul(left, right);
  bool by_rows = desc.pointers >= CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_ZERO;
  sum = sum.mul(factors(alpha, by_rows, desc, sum.size(-2), numbers));
  if (desc.pointers != CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_ZERO) {
    at::Tensor factor = factors(beta, false, desc, 1, numbers);
    if (!factor.eq(0).item<bool>()) sum = sum.add(matrices(c, layout_c).to(numbers).mul(factor));
  }
  TORCH_CHECK(sum.sizes() == d.sizes(), "cublasLtMatmul: the result is ", sum.sizes(), ", and D has ", d.sizes());
  sum = finished(desc, left, right, sum, d);
  bool is_byte = d.scalar_type() == c10::kChar;
  d.copy_(is_byte ? sum.round().clamp(-128, 127) : d.scalar_type() == c10::kInt ? sum.to(c10::kLong) : sum);
}

bool is_served(cudaDataType type) { return torchs(type) != c10::ScalarType::Undefined; }
bool is_served(const morph_cublasLtLayout& layout) { return is_served(layout.type) && layout.order <= CUBLASLT_ORDER_ROW; }
bool is_served(const morph_cublasLtDesc& desc) {
  bool has_types = true;
  for (int32_t type : {desc.bias_type, desc.aux_type}) has_types &= type == -1 || is_served(cudaDataType(type));
  return is_served(desc.scale) && has_types && is_known(desc.epilogue) && desc.pointers != CUBLASLT_POINTER_MODE_DEVICE_VECTOR;
}

}  // namespace
}  // namespace morph_cuda::blas

using namespace morph_cuda;
using namespace morph_cuda::blas;

extern "C" {
cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) { return cublasCreate(handle); }
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) { return cublasDestroy(handle); }
cublasStatus_t cublasLtMatmulDescInit(cublasLtMatmulDesc_t desc, cublasComputeType_t compute, cudaDataType scale) {
  return held(desc) = {compute, scale}, CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* desc, cublasComputeType_t compute, cudaDataType scale) {
  return cublasLtMatmulDescInit(*desc = new cublasLtMatmulDescOpaque_t, compute, scale);
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) { return delete desc, CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t which, const void* value,
                                              size_t size) {
  switch (which) {
    case CUBLASLT_MATMUL_DESC_COMPUTE_TYPE: return read(&held(desc).compute, value, size);
    case CUBLASLT_MATMUL_DESC_SCALE_TYPE: return read(&held(desc).scale, value, size);
    case CUBLASLT_MATMUL_DESC_POINTER_MODE: return read(&held(desc).pointers, value, size);
    case CUBLASLT_MATMUL_DESC_TRANSA: return read(&held(desc).op_a, value, size);
    case CUBLASLT_MATMUL_DESC_TRANSB: return read(&held(desc).op_b, value, size);
    case CUBLASLT_MATMUL_DESC_EPILOGUE: return read(&held(desc).epilogue, value, size);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER: return read(&held(desc).bias, value, size);
    case CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE: return read(&held(desc).bias_stride, value, size);
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE: return read(&held(desc).bias_type, value, size);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER: return read(&held(desc).aux, value, size);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD: return read(&held(desc).aux_leading, value, size);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE: return read(&held(desc).aux_stride, value, size);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE: return read(&held(desc).aux_type, value, size);
    default: return CUBLAS_STATUS_NOT_SUPPORTED;
  }
}
cublasStatus_t cublasLtMatrixLayoutInit(cublasLtMatrixLayout_t layout, cudaDataType type, uint64_t rows, uint64_t columns,
                                        int64_t leading) {
  return held(layout) = {type, rows, columns, leading}, CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type, uint64_t rows, uint64_t columns,
                                          int64_t leading) {
  return cublasLtMatrixLayoutInit(*layout = new cublasLtMatrixLayoutOpaque_t, type, rows, columns, leading);
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) { return delete layout, CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t which,
                                                const void* value, size_t size) {
  switch (which) {
    case CUBLASLT_MATRIX_LAYOUT_TYPE: return read(&held(layout).type, value, size);
    case CUBLASLT_MATRIX_LAYOUT_ORDER: return read(&held(layout).order, value, size);
    case CUBLASLT_MATRIX_LAYOUT_ROWS: return read(&held(layout).rows, value, size);
    case CUBLASLT_MATRIX_LAYOUT_COLS: return read(&held(layout).columns, value, size);
    case CUBLASLT_MATRIX_LAYOUT_LD: return read(&held(layout).leading, value, size);
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT: return read(&held(layout).batch, value, size);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET: return read(&held(layout).stride, value, size);
    default: return CUBLAS_STATUS_NOT_SUPPORTED;
  }
}
cublasStatus_t cublasLtMatmulPreferenceInit(cublasLtMatmulPreference_t preference) {
  return *preference = {}, CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  return *preference = new cublasLtMatmulPreferenceOpaque_t, CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  return delete preference, CUBLAS_STATUS_SUCCESS;
}
// No product here needs a workspace, and there is one algorithm.
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t,
                                                    const void*, size_t) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatmulPreference_t, int wanted,
                                              cublasLtMatmulHeuristicResult_t results[], int* found) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (wanted < 1) return CUBLAS_STATUS_INVALID_VALUE;
  results[0] = {};
  return *found = 1, CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void* alpha, const void* a,
                              cublasLtMatrixLayout_t layout_a, const void* b, cublasLtMatrixLayout_t layout_b, const void* beta,
                              const void* c, cublasLtMatrixLayout_t layout_c, void* d, cublasLtMatrixLayout_t layout_d,
                              const cublasLtMatmulAlgo_t*, void*, size_t, cudaStream_t stream) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!(desc && layout_a && layout_b && layout_c && layout_d)) return CUBLAS_STATUS_INVALID_VALUE;
  for (auto layout : {layout_a, layout_b, layout_c, layout_d})
    if (!is_served(held(layout))) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (!is_served(held(desc))) return CUBLAS_STATUS_NOT_SUPPORTED;
  cublasContext on{stream};
  return answered(&on, alpha && a && b && d, [&] {
    multiply(held(desc), matrices(a, held(layout_a)), matrices(b, held(layout_b)), alpha, beta, c, held(layout_c),
             matrices(d, held(layout_d), true));
  });
}
}
