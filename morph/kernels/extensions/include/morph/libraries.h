// The handles of CUDA's other libraries, which torch's headers name; their functions are not served.
#pragma once

#include "morph/blas_lt.h"
#include "morph/sparse.h"

typedef struct cusolverDnContext* cusolverDnHandle_t;
typedef struct cudnnContext* cudnnHandle_t;
typedef enum {
  CUSOLVER_STATUS_SUCCESS = 0,
  CUSOLVER_STATUS_INVALID_VALUE = 3,
  CUSOLVER_STATUS_NOT_SUPPORTED = 15,
} cusolverStatus_t;
typedef enum { CUDNN_STATUS_SUCCESS = 0 } cudnnStatus_t;
