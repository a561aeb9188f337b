"""The autograd function of ``SyncBatchNorm``, under its name without apex's extension."""

from .optimized_sync_batchnorm_kernel import ReduceOp as ReduceOp
from .optimized_sync_batchnorm_kernel import SyncBatchnormFunction as SyncBatchnormFunction
