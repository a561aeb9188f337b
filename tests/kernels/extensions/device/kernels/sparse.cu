// cuSPARSE as a program calls it: each function returns the first status that is not 0.
#include <cusparse.h>

#include <initializer_list>

namespace {

constexpr auto kWide = CUSPARSE_INDEX_64I, kNarrow = CUSPARSE_INDEX_32I;

template <class Ask, class Run>
int buffered(Ask ask, Run run) {
  size_t bytes = 0;
  void* buffer = nullptr;
  if (int status = ask(&bytes)) return status;
  cudaMalloc(&buffer, bytes);
  int status = run(buffer);
  return cudaFree(buffer), status;
}

struct Matrix {
  cusparseSpMatDescr_t made = nullptr;
  int status;
  // 2 by 2 blocks of BSR, slices of 2 rows, and rows of 4 numbers of blocked ELL
  Matrix(int format, int base, int rows, int columns, int nnz, void* outer, void* inner, void* values, int numbers) {
    auto from = cusparseIndexBase_t(base);
    auto type = cudaDataType(numbers);
    switch (format) {
      case CUSPARSE_FORMAT_CSR:
        status = cusparseCreateCsr(&made, rows, columns, nnz, outer, inner, values, kNarrow, kNarrow, from, type);
        break;
      case CUSPARSE_FORMAT_CSC:
        status = cusparseCreateCsc(&made, rows, columns, nnz, outer, inner, values, kNarrow, kNarrow, from, type);
        break;
      case CUSPARSE_FORMAT_COO:
        status = cusparseCreateCoo(&made, rows, columns, nnz, outer, inner, values, kWide, from, type);
        break;
      case CUSPARSE_FORMAT_BSR:
        status = cusparseCreateBsr(&made, rows / 2, columns / 2, nnz, 2, 2, outer, inner, values, kNarrow, kNarrow,
                                   from, type, CUSPARSE_ORDER_ROW);
        break;
      case CUSPARSE_FORMAT_SLICED_ELLPACK:
        status = cusparseCreateSlicedEll(&made, rows, columns, nnz, nnz, 2, outer, inner, values, kNarrow, kNarrow,
                                         from, type);
        break;
      default: status = cusparseCreateBlockedEll(&made, rows, columns, 2, 4, inner, values, kNarrow, from, type);
    }
  }
  ~Matrix() { cusparseDestroySpMat(made); }
};
struct Vector {
  cusparseDnVecDescr_t made;
  Vector(int n, void* values, int type) { cusparseCreateDnVec(&made, n, values, cudaDataType(type)); }
  ~Vector() { cusparseDestroyDnVec(made); }
};
struct Dense {
  cusparseDnMatDescr_t made;
  Dense(int rows, int columns, int leading, void* values, int type, int order) {
    cusparseCreateDnMat(&made, rows, columns, leading, values, cudaDataType(type), cusparseOrder_t(order));
  }
  ~Dense() { cusparseDestroyDnMat(made); }
};
struct Handle {
  cusparseHandle_t made;
  Handle() { cusparseCreate(&made); }
  ~Handle() { cusparseDestroy(made); }
};

}  // namespace

extern "C" {

int multiply_vector(int format, int base, int op, int rows, int columns, int nnz, void* outer, void* inner,
                    void* values, int of_a, void* x, int of_x, void* y, int of_y, int compute, void* alpha,
                    void* beta) {
  Handle handle;
  Matrix a(format, base, rows, columns, nnz, outer, inner, values, of_a);
  if (a.status) return a.status;
  Vector left(op ? rows : columns, x, of_x), right(op ? columns : rows, y, of_y);
  auto o = cusparseOperation_t(op);
  auto c = cudaDataType(compute);
  return buffered(
      [&](size_t* n) {
        return cusparseSpMV_bufferSize(handle.made, o, alpha, a.made, left.made, beta, right.made, c,
                                       CUSPARSE_SPMV_ALG_DEFAULT, n);
      },
      [&](void* p) {
        return cusparseSpMV(handle.made, o, alpha, a.made, left.made, beta, right.made, c, CUSPARSE_SPMV_ALG_DEFAULT,
                            p);
      });
}
// b is given by rows, c by columns.
int multiply_matrix(int op_a, int op_b, int m, int n, int k, int nnz, void* outer, void* inner, void* values, void* b,
                    void* c, int type, int batch, void* alpha, void* beta) {
  Handle handle;
  Matrix a(CUSPARSE_FORMAT_CSR, 0, op_a ? k : m, op_a ? m : k, nnz, outer, inner, values, type);
  Dense right(op_b ? n : k, op_b ? k : n, op_b ? k : n, b, type, CUSPARSE_ORDER_ROW),
      result(m, n, m, c, type, CUSPARSE_ORDER_COL);
  cusparseDnMatSetStridedBatch(right.made, batch, k * n);
  cusparseDnMatSetStridedBatch(result.made, batch, m * n);
  auto first = cusparseOperation_t(op_a), second = cusparseOperation_t(op_b);
  auto compute = cudaDataType(type);
  return cusparseSpMM(handle.made, first, second, alpha, a.made, right.made, beta, result.made, compute,
                      CUSPARSE_SPMM_CSR_ALG2, nullptr);
}
int sample(int m, int n, int k, int nnz, void* offsets, void* indices, void* values, void* a, void* b, int type,
           void* alpha, void* beta) {
  Handle handle;
  Matrix c(CUSPARSE_FORMAT_CSR, 0, m, n, nnz, offsets, indices, values, type);
  Dense left(m, k, k, a, type, CUSPARSE_ORDER_ROW), right(n, k, k, b, type, CUSPARSE_ORDER_ROW);
  return cusparseSDDMM(handle.made, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_TRANSPOSE, alpha, left.made,
                       right.made, beta, c.made, cudaDataType(type), CUSPARSE_SDDMM_ALG_DEFAULT, nullptr);
}
// How many numbers the product has is written to `count`, and the product where `offsets` and the others are.
int multiply_sparse(int m, int n, int k, int of_a, int of_b, void* a_offsets, void* a_indices, void* a_values,
                    void* b_offsets, void* b_indices, void* b_values, void* offsets, void* indices, void* values,
                    int type, void* alpha, int64_t* count) {
  Handle handle;
  double zeros[2] = {};
  Matrix a(CUSPARSE_FORMAT_CSR, 0, m, k, of_a, a_offsets, a_indices, a_values, type);
  Matrix b(CUSPARSE_FORMAT_CSR, 0, k, n, of_b, b_offsets, b_indices, b_values, type);
  Matrix c(CUSPARSE_FORMAT_CSR, 0, m, n, 0, offsets, nullptr, nullptr, type);
  cusparseSpGEMMDescr_t descr;
  cusparseSpGEMM_createDescr(&descr);
  auto no = CUSPARSE_OPERATION_NON_TRANSPOSE;
  auto compute = cudaDataType(type);
  auto with = [&](auto step, auto... more) {
    return step(handle.made, no, no, alpha, a.made, b.made, zeros, c.made, compute, CUSPARSE_SPGEMM_DEFAULT, descr,
                more...);
  };
  for (auto step : {cusparseSpGEMM_workEstimation, cusparseSpGEMM_compute}) {
    auto run = [&](void* buffer) { return with(step, (size_t*)nullptr, buffer); };
    if (int status = buffered([&](size_t* bytes) { return with(step, bytes, (void*)nullptr); }, run)) return status;
  }
  int64_t rows, columns;
  cusparseSpMatGetSize(c.made, &rows, &columns, count);
  cusparseCsrSetPointers(c.made, offsets, indices, values);
  return with(cusparseSpGEMM_copy) | cusparseSpGEMM_destroyDescr(descr);
}
int solve(int op, int fill, int diagonal, int n, int width, int nnz, void* offsets, void* indices, void* values,
          void* b, void* x, int type, void* alpha) {
  Handle handle;
  Matrix a(CUSPARSE_FORMAT_CSR, 0, n, n, nnz, offsets, indices, values, type);
  cusparseSpMatSetAttribute(a.made, CUSPARSE_SPMAT_FILL_MODE, &fill, sizeof fill);
  cusparseSpMatSetAttribute(a.made, CUSPARSE_SPMAT_DIAG_TYPE, &diagonal, sizeof diagonal);
  auto o = cusparseOperation_t(op);
  auto compute = cudaDataType(type);
  if (width == 1) {
    Vector right(n, b, type), result(n, x, type);
    cusparseSpSVDescr_t descr;
    cusparseSpSV_createDescr(&descr);
    int status = cusparseSpSV_solve(handle.made, o, alpha, a.made, right.made, result.made, compute,
                                    CUSPARSE_SPSV_ALG_DEFAULT, descr);
    return status | cusparseSpSV_destroyDescr(descr);
  }
  Dense right(n, width, width, b, type, CUSPARSE_ORDER_ROW), result(n, width, width, x, type, CUSPARSE_ORDER_ROW);
  cusparseSpSMDescr_t descr;
  cusparseSpSM_createDescr(&descr);
  int status = cusparseSpSM_solve(handle.made, o, CUSPARSE_OPERATION_NON_TRANSPOSE, alpha, a.made, right.made,
                                  result.made, compute, CUSPARSE_SPSM_ALG_DEFAULT, descr);
  return status | cusparseSpSM_destroyDescr(descr);
}
// To the format, and back into `again`.
int convert(int format, int rows, int columns, int nnz, void* dense, void* outer, void* inner, void* values,
            void* again, int type) {
  Handle handle;
  Dense from(rows, columns, columns, dense, type, CUSPARSE_ORDER_ROW),
      back(rows, columns, rows, again, type, CUSPARSE_ORDER_COL);
  Matrix to(format, 0, rows, columns, nnz, outer, inner, values, type);
  auto algorithm = CUSPARSE_DENSETOSPARSE_ALG_DEFAULT;
  int status = cusparseDenseToSparse_analysis(handle.made, from.made, to.made, algorithm, nullptr);
  status |= cusparseDenseToSparse_convert(handle.made, from.made, to.made, algorithm, nullptr);
  return status | cusparseSparseToDense(handle.made, to.made, back.made, CUSPARSE_SPARSETODENSE_ALG_DEFAULT, nullptr);
}
// The five functions of sparse and dense vectors, one after another; the product is written to `result`.
int vectors(int n, int nnz, void* indices, void* values, void* dense, void* taken, void* result, int type, void* alpha,
            void* beta) {
  Handle handle;
  cusparseSpVecDescr_t x, empty;
  auto numbers = cudaDataType(type);
  cusparseCreateSpVec(&x, n, nnz, indices, values, kNarrow, CUSPARSE_INDEX_BASE_ZERO, numbers);
  cusparseCreateSpVec(&empty, n, nnz, indices, taken, kNarrow, CUSPARSE_INDEX_BASE_ZERO, numbers);
  Vector y(n, dense, type);
  int status = cusparseAxpby(handle.made, alpha, x, beta, y.made) | cusparseGather(handle.made, y.made, empty);
  status |= cusparseSpVV(handle.made, CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE, x, y.made, result, numbers, nullptr);
  status |= cusparseRot(handle.made, alpha, beta, x, y.made) | cusparseScatter(handle.made, x, y.made);
  return status | cusparseDestroySpVec(x) | cusparseDestroySpVec(empty);
}
int sort(int by_columns, int n, int nnz, int* rows, int* columns, int* permutation, int* offsets, int* again) {
  Handle handle;
  int status = cusparseCreateIdentityPermutation(handle.made, nnz, permutation);
  if (by_columns) return status | cusparseXcoosortByColumn(handle.made, n, n, nnz, rows, columns, permutation, nullptr);
  status |= cusparseXcoosortByRow(handle.made, n, n, nnz, rows, columns, permutation, nullptr);
  status |= cusparseXcoo2csr(handle.made, rows, nnz, n, offsets, CUSPARSE_INDEX_BASE_ZERO);
  return status | cusparseXcsr2coo(handle.made, offsets, nnz, n, again, CUSPARSE_INDEX_BASE_ZERO);
}
int turn(int m, int n, int nnz, void* values, int* offsets, int* columns, void* to, int* to_offsets, int* to_rows,
         int type) {
  Handle handle;
  return cusparseCsr2cscEx2(handle.made, m, n, nnz, values, offsets, columns, to, to_offsets, to_rows,
                            cudaDataType(type), CUSPARSE_ACTION_NUMERIC, CUSPARSE_INDEX_BASE_ZERO,
                            CUSPARSE_CSR2CSC_ALG_DEFAULT, nullptr);
}
// C has its offsets after the first call, which tells how many numbers it has.
int add(int m, int n, int of_a, int of_b, int* a_offsets, int* a_columns, double* a, int* b_offsets, int* b_columns, double* b,
        int* offsets, int* columns, double* values, double* alpha, double* beta, int* count) {
  Handle handle;
  cusparseMatDescr_t from, to;
  cusparseCreateMatDescr(&from), cusparseCreateMatDescr(&to);
  cusparseSetMatIndexBase(to, CUSPARSE_INDEX_BASE_ONE);
  int status = cusparseXcsrgeam2Nnz(handle.made, m, n, from, of_a, a_offsets, a_columns, from, of_b, b_offsets, b_columns, to,
                                    offsets, count, nullptr);
  status |= cusparseDcsrgeam2(handle.made, m, n, alpha, from, of_a, a, a_offsets, a_columns, beta, from, of_b, b, b_offsets,
                              b_columns, to, values, offsets, columns, nullptr);
  return status | cusparseDestroyMatDescr(from) | cusparseDestroyMatDescr(to);
}
#define FACTORED(LETTER, T)                                                                                       \
  int factor_##LETTER(int is_symmetric, int n, int nnz, T* values, int* offsets, int* columns, int* zero_pivot) { \
    Handle handle;                                                                                                \
    cusparseMatDescr_t descr;                                                                                     \
    cusparseCreateMatDescr(&descr);                                                                               \
    csrilu02Info_t info;                                                                                          \
    cusparseCreateCsrilu02Info(&info);                                                                            \
    auto policy = CUSPARSE_SOLVE_POLICY_NO_LEVEL;                                                                 \
    auto run = is_symmetric ? cusparse##LETTER##csric02 : cusparse##LETTER##csrilu02;                             \
    int status = run(handle.made, n, nnz, descr, values, offsets, columns, info, policy, nullptr);                \
    status |= cusparseXcsrilu02_zeroPivot(handle.made, info, zero_pivot);                                         \
    return status | cusparseDestroyCsrilu02Info(info) | cusparseDestroyMatDescr(descr);                           \
  }
FACTORED(S, float)
FACTORED(D, double)
FACTORED(C, cuComplex)
FACTORED(Z, cuDoubleComplex)
int without_handle(void* x) {
  Vector vector(1, x, CUDA_R_32F);
  float one = 1;
  return cusparseSpMV(nullptr, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, nullptr, vector.made, &one, vector.made,
                      CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, nullptr);
}
}
