"""Names that a script binds while it is imported, in every spelling."""

import importlib
import sys

import torch
import torch.cuda
import torch.cuda as cu
import torch.cuda.amp as camp
import torch.cuda.amp.grad_scaler
import torch.cuda.comm
import torch.cuda.memory
import torch.cuda.nvtx as nvtx
import torch.cuda.random
import torch.cuda.streams
from torch import cuda, device, full, tensor, zeros
from torch.cuda import Event, Stream, current_device, is_available, memory, synchronize
from torch.cuda import amp as amp_package
from torch.cuda.amp import GradScaler, autocast, custom_bwd, custom_fwd
from torch.cuda.amp.autocast_mode import autocast as autocast_of_the_file
from torch.cuda.memory import max_memory_allocated, memory_allocated
from torch.cuda.random import manual_seed as seed_of_the_file
from torch.cuda.streams import Stream as StreamOfTheFile
from torch.nn.parallel import DataParallel


HAS_CUDA = torch.cuda.is_available()
DEVICE = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
CONSTANT = torch.tensor([1.0, 2.0]).to(DEVICE)


class Defaults:
    device = torch.device("cuda")


def _default(x, device=torch.device("cuda")):
    return x.to(device)


def stream_bound_early():
    with torch.cuda.stream(Stream()):
        assert torch.zeros(1, device="cuda").is_cuda


def autocast_bound_early():
    a = torch.ones(2, 2, device="cuda")
    with autocast():
        assert (a @ a).dtype in (torch.float16, torch.bfloat16)


def memory_bound_early():
    x = torch.zeros(1000, device="cuda")
    assert 0 < memory_allocated() <= max_memory_allocated() and x.is_cuda


def seed_bound_early():
    seed_of_the_file(3)
    assert torch.cuda.initial_seed() == 3


def module_from_the_importer():
    assert importlib.import_module("torch.cuda") is torch.cuda
    assert importlib.import_module("torch.cuda.amp") is torch.cuda.amp is camp is amp_package


def module_by_name():
    assert getattr(torch, "cuda") is torch.cuda  # noqa: B009


def late_import_in_a_function():
    from torch.cuda import device_count

    assert device_count() >= 1


def star_import():
    namespace = {}
    exec("from torch.cuda import *", namespace)
    assert namespace["is_available"]() and namespace["Stream"] is torch.cuda.Stream


def ranges_bound_early():
    nvtx.range_push("step")
    nvtx.range_pop()


EXPRESSIONS = {
    "flag_of_the_script": lambda: HAS_CUDA,
    "device_of_the_script": lambda: DEVICE.type == "cuda" and CONSTANT.is_cuda,
    "device_bound_early": lambda: device("cuda").type == "cuda" and device is torch.device,
    "factories_bound_early": lambda: zeros(2, device="cuda").is_cuda and full((1,), 2, device="cuda").is_cuda,
    "tensor_bound_early": lambda: tensor([1], device=device("cuda")).is_cuda,
    "default_argument": lambda: _default(torch.zeros(1)).is_cuda,
    "class_attribute": lambda: torch.zeros(1, device=Defaults.device).is_cuda,
    "available_bound_early": lambda: is_available() is True,
    "current_device_bound_early": lambda: current_device() == 0,
    "synchronize_bound_early": lambda: synchronize() is None,
    "stream_of_the_file_is_the_stream": lambda: StreamOfTheFile is Stream is torch.cuda.Stream,
    "event_bound_early": lambda: isinstance(Event(enable_timing=True), torch.cuda.Event),
    "autocast_of_the_file_is_autocast": lambda: autocast_of_the_file is autocast is torch.cuda.amp.autocast,
    "scaler_bound_early": lambda: GradScaler().is_enabled(),
    "custom_functions_bound_early": lambda: callable(custom_fwd) and callable(custom_bwd),
    "memory_of_both_spellings_is_one": lambda: (
        memory is torch.cuda.memory and memory.memory_allocated is torch.cuda.memory_allocated
    ),
    "module_under_another_name": lambda: cu is torch.cuda is cuda and cu.is_available(),
    "module_from_the_import_function": lambda: __import__("torch.cuda.amp").cuda.amp is torch.cuda.amp,
    "module_from_the_modules": lambda: (
        sys.modules["torch.cuda"] is torch.cuda and sys.modules["torch.cuda.amp"] is torch.cuda.amp
    ),
    "data_parallel_bound_early": lambda: (
        DataParallel(torch.nn.Linear(2, 2).cuda(), device_ids=[0])(torch.ones(1, 2).cuda()).is_cuda
    ),
    "submodule_of_the_scaler": lambda: torch.cuda.amp.grad_scaler.GradScaler is GradScaler,
}
