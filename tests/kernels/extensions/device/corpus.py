"""Kernels of our own, built by ``torch.utils.cpp_extension.load`` where the tests run: under morph."""

from __future__ import annotations

import ctypes
import functools
import pathlib
from typing import Any

import torch

KERNELS = pathlib.Path(__file__).parent / "kernels"


@functools.cache
def library(name: str) -> ctypes.CDLL:
    """Build and load one source of the corpus, whose functions have C's linkage."""
    from torch.utils import cpp_extension

    path = cpp_extension.load(f"corpus_{name}", [str(KERNELS / f"{name}.cu")], is_python_module=False)
    return ctypes.CDLL(path)


def call(name: str, function: str, *arguments: Any) -> None:
    """Call a function of the corpus with tensors, as their addresses, and integers."""
    words = [
        ctypes.c_void_p(each.data_ptr()) if isinstance(each, torch.Tensor) else ctypes.c_int(each)
        for each in arguments
    ]
    getattr(library(name), function)(*words)


def cuda(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Return random numbers on the device."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(7)).to(dtype).cuda()
