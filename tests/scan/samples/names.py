"""Names of torch.cuda, reached in every possible way; a comment lists the uses that begin on its line."""
import importlib
import sys
import torch
import torch as t
import torch.cuda  #: torch.cuda
import torch.backends.cudnn as cudnn  #: torch.backends.cudnn
import torch.cuda.amp as amp  #: torch.cuda.amp
from torch import cuda  #: torch.cuda
from torch import cuda as device_module, nn  #: torch.cuda
from torch.cuda import (  # an import over several lines
    Stream,  #: torch.cuda.Stream
    synchronize as wait,  #: torch.cuda.synchronize
)
from torch.cuda.amp import autocast as ac  #: torch.cuda.amp.autocast
from . import cuda as own
from .cuda import memory_allocated as of_own

torch.cuda.synchronize()  #: torch.cuda.synchronize
t.cuda.memory_allocated(0)  #: torch.cuda.memory_allocated
cuda.empty_cache()  #: torch.cuda.empty_cache
device_module.manual_seed(1)  #: torch.cuda.manual_seed
amp.GradScaler()  #: torch.cuda.amp.GradScaler
wait()  #: torch.cuda.synchronize
cudnn.benchmark = True  #: torch.backends.cudnn.benchmark
torch.backends.cuda.matmul.allow_tf32 = True  #: torch.backends.cuda.matmul.allow_tf32
own.synchronize(), of_own()
nn.Linear(1, 1)

with ac(), torch.cuda.stream(Stream()):  #: torch.cuda.amp.autocast, torch.cuda.stream, torch.cuda.Stream
    print((torch  #: torch.cuda.current_device
           .cuda.current_device()))

chained = (torch  #: torch.cuda.max_memory_allocated
           .cuda
           .max_memory_allocated())

module = torch.cuda  #: torch.cuda
count = module.device_count  #: torch.cuda.device_count
count()  #: torch.cuda.device_count
if chained:
    chosen = torch.cuda  #: torch.cuda
else:
    chosen = torch.cpu
chosen.current_stream()  #: torch.cuda.current_stream
either = torch.cuda if chained else torch.cpu  #: torch.cuda
either.set_device(0)  #: torch.cuda.set_device
importlib.import_module("torch.cuda").init()  #: torch.cuda, torch.cuda.init
importlib.import_module("torch.cuda.amp")  #: torch.cuda.amp
sys.modules["torch.cuda"].ipc_collect()  #: torch.cuda, torch.cuda.ipc_collect
getattr(torch, "cuda").get_device_name()  #: torch.cuda, torch.cuda.get_device_name
hasattr(torch.cuda, "gds"), getattr(cuda, "gds", None)  #: torch.cuda, torch.cuda.gds, torch.cuda, torch.cuda.gds
getattr(torch.cuda, "is_available")()  #: torch.cuda, torch.cuda.is_available
stream: "torch.cuda.Stream" = torch.cuda.Stream()  #: torch.cuda.Stream, torch.cuda.Stream
stream.cuda_stream  #: torch.cuda.Stream.cuda_stream
stream.synchronize()
torch.zeros(1).type("torch.cuda.FloatTensor")  #: torch.cuda.FloatTensor


def shadows(torch, cuda=None):
    torch.cuda.synchronize()
    return cuda.synchronize()


def takes(backend=torch.cuda):  #: torch.cuda
    backend.synchronize()  #: torch.cuda.synchronize
    import torch.cuda.nvtx as nvtx  #: torch.cuda.nvtx
    nvtx.mark("here")  #: torch.cuda.nvtx.mark


class Holder:
    cuda = None
    kept = torch.cuda.is_available()  #: torch.cuda.is_available

    def method(self):
        cuda.reset_peak_memory_stats()  #: torch.cuda.reset_peak_memory_stats
        return self.cuda.anything

    @torch.cuda.amp.custom_fwd  #: torch.cuda.amp.custom_fwd
    def forward(self):
        global late
        late = torch.cuda  #: torch.cuda

    def backward(self):
        late.nccl.version(), [cuda.utilization(d) for d in (0, 1)]  #: torch.cuda.nccl.version, torch.cuda.utilization


def loops():
    for cuda in range(3):
        cuda.bit_length()
    if (alias := torch.cuda) is not None:  #: torch.cuda
        return lambda: alias.seed_all()  #: torch.cuda.seed_all
    major, minor = torch.cuda.get_device_capability()  #: torch.cuda.get_device_capability
    first, second = torch.cuda, torch.cpu  #: torch.cuda
    return first.seed(), second.synchronize(), major  #: torch.cuda.seed


torch.distributed.is_nccl_available()  #: torch.distributed.is_nccl_available
torch.profiler.ProfilerActivity.CUDA  #: torch.profiler.ProfilerActivity.CUDA
torch.distributed.Backend.NCCL, torch.distributed.ProcessGroupNCCL  #: torch.distributed.Backend.NCCL, torch.distributed.ProcessGroupNCCL
list(map(torch.Tensor.cuda, []))  #: torch.Tensor.cuda
list(map(torch.Tensor.is_cuda.__get__, []))  #: torch.Tensor.is_cuda.__get__
torch.nn.Module.cuda(torch.nn.Linear(1, 1))  #: torch.nn.Module.cuda
torch.backends.cusparselt.is_available()  #: torch.backends.cusparselt.is_available
torch.set_autocast_gpu_dtype(torch.get_autocast_gpu_dtype())  #: torch.set_autocast_gpu_dtype, torch.get_autocast_gpu_dtype
torch.version.cuda  #: torch.version.cuda
"a docstring that says torch.cuda.synchronize() is no use"
