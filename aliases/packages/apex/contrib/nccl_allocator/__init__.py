"""Memory pools for collectives."""
# ruff: noqa: F401 (the imported names are part of the interface)

from .nccl_allocator import create_nccl_mem_pool, init, nccl_mem
