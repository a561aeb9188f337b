// cuSPARSE's products, of sparse matrices and vectors with dense ones and with each other.
#include "sparse_types.h"

#include <ATen/ops/_sparse_coo_tensor_unsafe.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/stack.h>

namespace morph_cuda::sparse {
namespace {

at::Tensor product(const Entries& a, int64_t rows, int64_t columns, const at::Tensor& b) {
  at::Tensor sparse =
      at::_sparse_coo_tensor_unsafe(at::stack({a.rows, a.columns}), a.values.resolve_conj(), {rows, columns});
  return at::mm(sparse, b);
}

cusparseStatus_t checked(cusparseOperation_t op, const void* alpha, cusparseConstSpMatDescr_t a,
                         cusparseConstDnVecDescr_t x, const void* beta, cusparseConstDnVecDescr_t y,
                         cudaDataType compute) {
  if (!alpha || !a || !x || !beta || !y) return CUSPARSE_STATUS_INVALID_VALUE;
  return checked(Types{a->numbers.type, x->numbers.type, y->numbers.type, compute},
                 under(op, a->height(), a->width()) == MatrixSize{y->size, x->size});
}
cusparseStatus_t checked(MORPH_TWO, const void* alpha, cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
                         const void* beta, cusparseConstDnMatDescr_t c, cudaDataType compute) {
  if (!alpha || !a || !b || !beta || !c) return CUSPARSE_STATUS_INVALID_VALUE;
  bool fits = is_product(under(op_a, a->height(), a->width()), under(op_b, b->rows, b->columns), {c->rows, c->columns});
  bool batches = (a->batch == 1 || a->batch == c->batch) && (b->batch == 1 || b->batch == c->batch);
  return checked(Types{a->numbers.type, b->numbers.type, c->numbers.type, compute}, fits && batches);
}
cusparseStatus_t checked(MORPH_TWO, const void* alpha, cusparseConstDnMatDescr_t a, cusparseConstDnMatDescr_t b,
                         const void* beta, cusparseConstSpMatDescr_t c, cudaDataType compute) {
  if (!alpha || !a || !b || !beta || !c) return CUSPARSE_STATUS_INVALID_VALUE;
  bool fits = is_product(under(op_a, a->rows, a->columns), under(op_b, b->rows, b->columns), {c->height(), c->width()});
  bool batches = a->batch == b->batch && (a->batch == 1 || a->batch == c->batch);
  return checked(Types{a->numbers.type, b->numbers.type, c->numbers.type, compute}, fits && batches);
}
// The sums of rows of a with columns of b at the places of the entries, of a part of them at a time.
at::Tensor sampled(const at::Tensor& a, const at::Tensor& b, const Entries& at_places) {
  constexpr int64_t kPart = 1 << 14;
  at::Tensor columns = b.t(), result = at::empty(at_places.rows.sizes(), a.options());
  for (int64_t i = 0; i < result.numel(); i += kPart) {
    at::Tensor left = a.index({at_places.rows.slice(0, i, i + kPart)}),
               right = columns.index({at_places.columns.slice(0, i, i + kPart)});
    result.slice(0, i, i + kPart).copy_((left * right).sum(1));
  }
  return result;
}

template <class F>
cusparseStatus_t of_vectors(Caller by, cusparseConstSpVecDescr_t x, cusparseConstDnVecDescr_t y, F work) {
  if (!x || !y || x->size != y->size) return CUSPARSE_STATUS_INVALID_VALUE;
  bool is_served = blas::torchs(x->numbers.type) != c10::ScalarType::Undefined && x->numbers.type == y->numbers.type;
  return answered(by, is_served ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_NOT_SUPPORTED, work);
}
// In which type numbers of the vector are summed, and their factors come.
cudaDataType summing(cudaDataType type) { return type == CUDA_R_16F || type == CUDA_R_16BF ? CUDA_R_32F : type; }

}  // namespace
}  // namespace morph_cuda::sparse

using namespace morph_cuda::sparse;

extern "C" {

cusparseStatus_t cusparseAxpby(cusparseHandle_t handle, const void* alpha, cusparseConstSpVecDescr_t x,
                               const void* beta, cusparseDnVecDescr_t y) {
  return of_vectors(handle, x, y, [&] {
    cudaDataType type = summing(x->numbers.type);
    at::Tensor whole = y->values(true), sum = whole.to(computing(type)) * factor(beta, type);
    sum.index_add_(0, x->places(), x->values().to(sum.scalar_type()) * factor(alpha, type));
    whole.copy_(sum);
  });
}
cusparseStatus_t cusparseGather(cusparseHandle_t handle, cusparseConstDnVecDescr_t y, cusparseSpVecDescr_t x) {
  return of_vectors(handle, x, y, [&] { x->values(true).copy_(y->values().index({x->places()})); });
}
cusparseStatus_t cusparseScatter(cusparseHandle_t handle, cusparseConstSpVecDescr_t x, cusparseDnVecDescr_t y) {
  return of_vectors(handle, x, y, [&] { y->values(true).index_put_({x->places()}, x->values()); });
}
cusparseStatus_t cusparseRot(cusparseHandle_t handle, const void* c, const void* s, cusparseSpVecDescr_t x,
                             cusparseDnVecDescr_t y) {
  return of_vectors(handle, x, y, [&] {
    cudaDataType type = summing(x->numbers.type);
    at::Scalar cosine = factor(c, type), sine = factor(s, type);
    at::Tensor places = x->places(), mine = x->values(true), whole = y->values(true), other = whole.index({places});
    at::Tensor turned = mine * cosine + other * sine;
    whole.index_put_({places}, other * cosine - mine * sine);
    mine.copy_(turned);
  });
}
cusparseStatus_t cusparseSpVV_bufferSize(cusparseHandle_t handle, cusparseOperation_t, cusparseConstSpVecDescr_t x,
                                         cusparseConstDnVecDescr_t y, const void*, cudaDataType, size_t* bytes) {
  return sized(handle, x && y ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_INVALID_VALUE, bytes);
}
cusparseStatus_t cusparseSpVV(cusparseHandle_t handle, cusparseOperation_t op, cusparseConstSpVecDescr_t x,
                              cusparseConstDnVecDescr_t y, void* result, cudaDataType compute, void*) {
  if (!x || !y) return CUSPARSE_STATUS_INVALID_VALUE;
  c10::ScalarType type = computing(compute);
  cusparseStatus_t status =
      checked(Types{x->numbers.type, y->numbers.type, compute, compute}, result && x->size == y->size);
  return answered(handle, status, [&] {
    at::Tensor mine = x->values().to(type), other = y->values().index({x->places()}).to(type);
    if (op == CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE) mine = mine.conj();
    memory(result, blas::torchs(compute), {}, {}, true).copy_((mine * other).sum());
  });
}

cusparseStatus_t cusparseSpMV_bufferSize(cusparseHandle_t handle, cusparseOperation_t op, const void* alpha,
                                         cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x, const void* beta,
                                         cusparseDnVecDescr_t y, cudaDataType compute, cusparseSpMVAlg_t,
                                         size_t* bytes) {
  return sized(handle, checked(op, alpha, a, x, beta, y, compute), bytes);
}
cusparseStatus_t cusparseSpMV_preprocess(cusparseHandle_t handle, cusparseOperation_t op, const void* alpha,
                                         cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x, const void* beta,
                                         cusparseDnVecDescr_t y, cudaDataType compute, cusparseSpMVAlg_t, void*) {
  return answered(handle, checked(op, alpha, a, x, beta, y, compute), [] {});
}
cusparseStatus_t cusparseSpMV(cusparseHandle_t handle, cusparseOperation_t op, const void* alpha,
                              cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x, const void* beta,
                              cusparseDnVecDescr_t y, cudaDataType compute, cusparseSpMVAlg_t, void*) {
  return answered(handle, checked(op, alpha, a, x, beta, y, compute), [&] {
    c10::ScalarType type = computing(compute);
    Entries entries = a->entries().in(type).under(op);
    at::Tensor sums = product(entries, y->size, x->size, x->values().to(type).unsqueeze(1));
    Factors(alpha, beta, compute).store(sums.squeeze(1), y->values(true));
  });
}

cusparseStatus_t cusparseSpMM_bufferSize(cusparseHandle_t handle, MORPH_TWO, const void* alpha,
                                         cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b, const void* beta,
                                         cusparseDnMatDescr_t c, cudaDataType compute, cusparseSpMMAlg_t,
                                         size_t* bytes) {
  return sized(handle, checked(op_a, op_b, alpha, a, b, beta, c, compute), bytes);
}
cusparseStatus_t cusparseSpMM_preprocess(cusparseHandle_t handle, MORPH_TWO, const void* alpha,
                                         cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b, const void* beta,
                                         cusparseDnMatDescr_t c, cudaDataType compute, cusparseSpMMAlg_t, void*) {
  return answered(handle, checked(op_a, op_b, alpha, a, b, beta, c, compute), [] {});
}
cusparseStatus_t cusparseSpMM(cusparseHandle_t handle, MORPH_TWO, const void* alpha, cusparseConstSpMatDescr_t a,
                              cusparseConstDnMatDescr_t b, const void* beta, cusparseDnMatDescr_t c,
                              cudaDataType compute, cusparseSpMMAlg_t, void*) {
  return answered(handle, checked(op_a, op_b, alpha, a, b, beta, c, compute), [&] {
    c10::ScalarType type = computing(compute);
    Factors factors(alpha, beta, compute);
    MatrixSize sizes = under(op_a, a->height(), a->width());
    for (int64_t i = 0; i < c->batch; i++) {
      Entries entries = a->entries(a->batch == 1 ? 0 : i).in(type).under(op_a);
      at::Tensor right = applied(b->values(b->batch == 1 ? 0 : i).to(type), op_b);
      factors.store(product(entries, sizes.rows, sizes.columns, right.resolve_conj()), c->values(i, true));
    }
  });
}

cusparseStatus_t cusparseSDDMM_bufferSize(cusparseHandle_t handle, MORPH_TWO, const void* alpha,
                                          cusparseConstDnMatDescr_t a, cusparseConstDnMatDescr_t b, const void* beta,
                                          cusparseSpMatDescr_t c, cudaDataType compute, cusparseSDDMMAlg_t,
                                          size_t* bytes) {
  return sized(handle, checked(op_a, op_b, alpha, a, b, beta, c, compute), bytes);
}
cusparseStatus_t cusparseSDDMM_preprocess(cusparseHandle_t handle, MORPH_TWO, const void* alpha,
                                          cusparseConstDnMatDescr_t a, cusparseConstDnMatDescr_t b, const void* beta,
                                          cusparseSpMatDescr_t c, cudaDataType compute, cusparseSDDMMAlg_t, void*) {
  return answered(handle, checked(op_a, op_b, alpha, a, b, beta, c, compute), [] {});
}
cusparseStatus_t cusparseSDDMM(cusparseHandle_t handle, MORPH_TWO, const void* alpha, cusparseConstDnMatDescr_t a,
                               cusparseConstDnMatDescr_t b, const void* beta, cusparseSpMatDescr_t c,
                               cudaDataType compute, cusparseSDDMMAlg_t, void*) {
  return answered(handle, checked(op_a, op_b, alpha, a, b, beta, c, compute), [&] {
    c10::ScalarType type = computing(compute);
    Factors factors(alpha, beta, compute);
    for (int64_t i = 0; i < c->batch; i++) {
      int64_t of_factors = a->batch == 1 ? 0 : i;
      at::Tensor left = applied(a->values(of_factors).to(type), op_a),
                 right = applied(b->values(of_factors).to(type), op_b);
      Entries places = c->stored(i);
      factors.store(sampled(left, right, places), c->values(places.rows.numel(), i, true));
    }
  });
}
}
