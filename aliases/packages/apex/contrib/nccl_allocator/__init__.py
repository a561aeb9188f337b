"""Memory pools for collectives."""

from .nccl_allocator import create_nccl_mem_pool as create_nccl_mem_pool
from .nccl_allocator import init as init
from .nccl_allocator import nccl_mem as nccl_mem
