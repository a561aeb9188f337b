"""Uses that work everywhere, though not as on CUDA, and a required module."""
import torch
import torch.distributed as dist
import triton  #: triton triton-import
from torch import compile as compiled

try:
    import triton.language as tl
except ImportError:
    tl = None
if tl:
    import triton.testing


def lazily():
    import triton
    return triton.cdiv(1, 2)


@torch.compile  #: torch.compile compiled
def step(x):
    return x.to(memory_format=torch.channels_last)  #: torch.channels_last channels-last


fast = compiled(torch.nn.Linear(1, 1), mode="reduce-overhead")  #: torch.compile compiled
total = torch.zeros(1, dtype=torch.float64)  #: torch.float64 float64-reduction
total.double(), torch.float32
dist.all_reduce(total)
