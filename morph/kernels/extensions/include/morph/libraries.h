// cuBLAS by the names of its other headers, and cuDNN's handle, which torch's headers name; its functions are not served.
#pragma once

#include "morph/blas_lt.h"

typedef struct cudnnContext* cudnnHandle_t;
typedef enum { CUDNN_STATUS_SUCCESS = 0 } cudnnStatus_t;
