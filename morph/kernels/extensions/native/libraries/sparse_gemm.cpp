// cuSPARSE's product of two sparse matrices, which takes several calls.
#include "sparse_types.h"

#include <ATen/ops/_sparse_coo_tensor_unsafe.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/repeat_interleave.h>
#include <ATen/ops/stack.h>

// What one call of cusparseSpGEMM keeps for the next.
struct cusparseSpGEMMDescr {
  morph_cuda::sparse::Entries product;
  int64_t count = 0;  // of the products of two numbers
};

namespace morph_cuda::sparse {
namespace {

cusparseStatus_t checked(MORPH_TWO, cusparseConstSpMatDescr_t a, cusparseConstSpMatDescr_t b,
                         cusparseConstSpMatDescr_t c, cudaDataType compute) {
  if (!a || !b || !c || !is_product({a->rows, a->columns}, {b->rows, b->columns}, {c->rows, c->columns}))
    return CUSPARSE_STATUS_INVALID_VALUE;
  bool is_served = !is_transposed(op_a) && !is_transposed(op_b) && a->is_compressed() && a->format == b->format &&
                   a->format == c->format;
  if (!is_served) return CUSPARSE_STATUS_NOT_SUPPORTED;
  return checked(Types{a->numbers.type, b->numbers.type, c->numbers.type, compute}, true, kOfOneType);
}

// All products of a number of a with one of b, and their sums at each place, also where these are 0.
void multiply(const cusparseSpMatDescr& a, const cusparseSpMatDescr& b, cusparseSpGEMMDescr& into) {
  Entries left = a.entries(), right = ordered(b.entries(), b.columns);
  at::Tensor begins = offsets_of(right.rows, b.rows), of = left.columns;
  at::Tensor counts = begins.diff().index({of}), which = at::repeat_interleave(counts);
  at::Tensor before = counts.cumsum(0) - counts;
  at::Tensor at_right =
      begins.index({of}).index({which}) + at::arange(which.numel(), c10::kLong) - before.index({which});
  into.count = which.numel();
  at::Tensor values = left.values.index({which}) * right.values.index({at_right});
  at::Tensor places = at::stack({left.rows.index({which}), right.columns.index({at_right})});
  at::Tensor sums = at::_sparse_coo_tensor_unsafe(places, values, {a.rows, b.columns}).coalesce();
  into.product = {sums.indices()[0], sums.indices()[1], sums.values()};
}

// What a SpGEMM writes: in the order of c, of which beta times the numbers are part.
void store(const Factors& factors, const cusparseSpGEMMDescr& descr, cusparseSpMatDescr& c) {
  Entries result = descr.product;
  bool by_columns = c.format == CUSPARSE_FORMAT_CSC;
  if (by_columns)
    result = ordered(result.under(CUSPARSE_OPERATION_TRANSPOSE), c.rows).under(CUSPARSE_OPERATION_TRANSPOSE);
  at::Tensor sums = result.values * factors.alpha;
  if (!factors.beta.equal(0)) sums = sums + c.values(sums.numel(), 0, false) * factors.beta;
  c.write({result.rows, result.columns, sums});
}

}  // namespace
}  // namespace morph_cuda::sparse

using namespace morph_cuda::sparse;

extern "C" {

cusparseStatus_t cusparseSpGEMM_createDescr(cusparseSpGEMMDescr_t* descr) {
  return descr ? (*descr = new cusparseSpGEMMDescr, CUSPARSE_STATUS_SUCCESS) : CUSPARSE_STATUS_INVALID_VALUE;
}
cusparseStatus_t cusparseSpGEMM_destroyDescr(cusparseSpGEMMDescr_t descr) {
  return delete descr, CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpGEMM_getNumProducts(cusparseSpGEMMDescr_t descr, int64_t* count) {
  return descr && count ? (*count = descr->count, CUSPARSE_STATUS_SUCCESS) : CUSPARSE_STATUS_INVALID_VALUE;
}
cusparseStatus_t cusparseSpGEMM_workEstimation(MORPH_SPGEMM, size_t* bytes, void* buffer) {
  cusparseStatus_t status =
      alpha && beta && descr ? checked(op_a, op_b, a, b, c, compute) : CUSPARSE_STATUS_INVALID_VALUE;
  if (!buffer) return sized(handle, status, bytes);
  return answered(handle, status, [&] { multiply(*a, *b, *descr); });
}
cusparseStatus_t cusparseSpGEMM_estimateMemory(MORPH_SPGEMM, float, size_t* bytes, void*, size_t* for_compute) {
  bool is_valid = alpha && beta && descr;
  cusparseStatus_t status =
      sized(handle, is_valid ? checked(op_a, op_b, a, b, c, compute) : CUSPARSE_STATUS_INVALID_VALUE, bytes);
  if (!status && for_compute) *for_compute = kBuffer;
  return status;
}
cusparseStatus_t cusparseSpGEMM_compute(MORPH_SPGEMM, size_t* bytes, void* buffer) {
  cusparseStatus_t status =
      cusparseSpGEMM_workEstimation(handle, op_a, op_b, alpha, a, b, beta, c, compute, algorithm, descr, bytes, buffer);
  if (!status && buffer) c->nnz = descr->product.values.numel();
  return status;
}
cusparseStatus_t cusparseSpGEMM_copy(MORPH_SPGEMM) {
  cusparseStatus_t status =
      alpha && beta && descr ? checked(op_a, op_b, a, b, c, compute) : CUSPARSE_STATUS_INVALID_VALUE;
  if (!status && !descr->product.values.defined()) status = CUSPARSE_STATUS_INVALID_VALUE;
  return answered(handle, status, [&] { store(Factors(alpha, beta, compute), *descr, *c); });
}

cusparseStatus_t cusparseSpGEMMreuse_workEstimation(MORPH_SPGEMM_STRUCTURE, size_t* bytes, void*) {
  return sized(handle, descr && c ? checked(op_a, op_b, a, b, c, c->numbers.type) : CUSPARSE_STATUS_INVALID_VALUE,
               bytes);
}
cusparseStatus_t cusparseSpGEMMreuse_nnz(MORPH_SPGEMM_STRUCTURE, size_t* bytes2, void* buffer2, size_t* bytes3, void*,
                                         size_t* bytes4, void*) {
  cusparseStatus_t status = descr && c ? checked(op_a, op_b, a, b, c, c->numbers.type) : CUSPARSE_STATUS_INVALID_VALUE;
  if (!handle) return CUSPARSE_STATUS_NOT_INITIALIZED;
  if (!buffer2) {
    if (!bytes2 || !bytes3 || !bytes4) return CUSPARSE_STATUS_INVALID_VALUE;
    *bytes2 = *bytes3 = *bytes4 = kBuffer;
    return status;
  }
  return answered(handle, status, [&] { multiply(*a, *b, *descr), c->nnz = descr->product.values.numel(); });
}
cusparseStatus_t cusparseSpGEMMreuse_copy(MORPH_SPGEMM_STRUCTURE, size_t* bytes, void*) {
  return sized(handle, descr && c ? checked(op_a, op_b, a, b, c, c->numbers.type) : CUSPARSE_STATUS_INVALID_VALUE,
               bytes);
}
cusparseStatus_t cusparseSpGEMMreuse_compute(MORPH_SPGEMM) {
  cusparseStatus_t status =
      alpha && beta && descr ? checked(op_a, op_b, a, b, c, compute) : CUSPARSE_STATUS_INVALID_VALUE;
  return answered(handle, status, [&] {
    multiply(*a, *b, *descr);
    store(Factors(alpha, beta, compute), *descr, *c);
  });
}
}
