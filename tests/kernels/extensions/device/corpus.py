"""Kernels of our own, built by ``torch.utils.cpp_extension.load`` where the tests run: under morph."""

import ctypes
import functools
import hashlib
import pathlib
from collections.abc import Callable
from typing import Any

import filelock
import pytest
import torch

from tests.ascend.build import cache_folder

KERNELS = pathlib.Path(__file__).parent / "kernels"


@functools.cache
def library(name: str) -> ctypes.CDLL:
    """Build and load one source of the corpus, whose functions have C's linkage."""
    source = KERNELS / f"{name}.cu"
    folder = _build_folder(source)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with filelock.FileLock(f"{folder}.lock"):
        return ctypes.CDLL(_build(source, folder))


def _build_folder(source: pathlib.Path) -> pathlib.Path:
    """Return a folder for one source, one toolkit (by its headers, compiler and torch) and one checkout."""
    from torch.utils import cpp_extension

    identity = f"{cpp_extension.CUDA_HOME}\0{source}\0{source.read_text()}"
    return cache_folder() / f"cuda-{source.stem}-{hashlib.sha256(identity.encode()).hexdigest()[:20]}"


def _build(source: pathlib.Path, folder: pathlib.Path) -> str:
    """Return the path of the library; torch's own builder does it, anew only where something changed."""
    from torch.utils import cpp_extension

    folder.mkdir(exist_ok=True)
    (folder / "lock").unlink(missing_ok=True)  # torch would wait for a process that was killed
    return cpp_extension.load(
        f"corpus_{source.stem}", [str(source)], build_directory=str(folder), is_python_module=False
    )


def call(name: str, function: str, *arguments: Any) -> int:
    """Call a function of the corpus with tensors, as their addresses, and integers; return its status."""
    words = [
        ctypes.c_void_p(each.data_ptr()) if isinstance(each, torch.Tensor) else ctypes.c_int(each)
        for each in arguments
    ]
    status: int = getattr(library(name), function)(*words)
    return status


def cuda(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Return random numbers on the device."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(7)).to(dtype).cuda()


def captured(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return what a function returns while a graph is captured, which must fail by it."""
    returned = []
    with (
        pytest.raises(RuntimeError, match="previous error during capture"),
        torch.cuda.graph(torch.cuda.CUDAGraph()),
    ):
        returned.append(function(*arguments))
    return returned[0]
