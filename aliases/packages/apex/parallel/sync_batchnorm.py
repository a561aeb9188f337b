"""Batch normalisation with the statistics of all processes, under its name without apex's extension."""

from .optimized_sync_batchnorm import SyncBatchNorm as SyncBatchNorm
