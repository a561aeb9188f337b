"""The versions and settings of the libraries that a build for CUDA links."""

from __future__ import annotations

from functools import partial
from types import ModuleType
from typing import Any

import torch
from torch.backends import ContextProp
from torch.nn.attention import SDPBackend

from morph.base.journal import Journal
from morph.software.machine import Machine
from morph.software.settings import TOOLKIT

CUDNN = 92000  # 9.20.0, which torch 2.13's own distributions for CUDA require
CUBLASLT_WORKSPACE = 1 << 20


def names(machine: Machine) -> dict[str, Any]:
    """Return the names of ``torch._C`` that only CUDA has, with what each is.

    Args:
        machine: The simulated machine.
    """
    return {
        "_has_cudnn": True,
        "_cudnn": cudnn(),
        "_cuda_getCompiledVersion": _runtime,
        **_choices_of_attention(machine.native),
    }


def _choices_of_attention(native: Any) -> dict[str, Any]:
    """Return what says whether CUDA's kernels of attention take some tensors.

    A build for CPUs denies it, one for CUDA asks the driver for the capability.
    """
    kernels = {
        "flash": SDPBackend.FLASH_ATTENTION,
        "mem_efficient": SDPBackend.EFFICIENT_ATTENTION,
        "cudnn": SDPBackend.CUDNN_ATTENTION,
    }
    choices = {
        f"_can_use_{name}_attention": partial(_takes, native, kernel.value)
        for name, kernel in kernels.items()
    }
    return {**choices, "_is_flash_attention_available": lambda: True}


def _takes(native: Any, kernel: int, given: Any, debug: bool = False) -> bool:
    tensors = given.query, given.key, given.value, given.attn_mask
    takes: bool = native.attention_takes(
        kernel, *tensors, given.dropout, given.is_causal, given.enable_gqa, debug
    )
    return takes


def _runtime() -> int:
    major, minor = (torch.version.cuda or TOOLKIT).split(".")[:2]
    return int(major) * 1000 + int(minor) * 10


def settings(native: Any) -> dict[str, Any]:
    """Return the names of ``torch._C`` that set what a library takes, which CUDA and HIP have.

    What is set is what is read again; there is no library that would take less or more for it, but for
    cuBLAS's workspaces, which the statistics of memory count.

    Args:
        native: The device's C++ part.
    """
    return {
        **_benchmark_limit(),
        **_setting("_cuda_get_conv_benchmark_empty_cache", "_cudnn_set_conv_benchmark_empty_cache", True),
        **_cublas(native),
        "_cuda_getCurrentBlasHandle": lambda: 0,
        **_tuning(),
    }


def cudnn() -> ModuleType:
    """Make ``torch._C._cudnn``."""
    module: Any = ModuleType("torch._C._cudnn")
    module.is_cuda = True
    module.getCompileVersion = module.getRuntimeVersion = _version
    module.getVersionInt = lambda: CUDNN
    made: ModuleType = module
    return made


def place(journal: Journal) -> None:
    """Give cuDNN to ``torch.backends.cudnn``, which looked for it when torch was imported."""
    module: Any = torch.backends.cudnn.version.__globals__
    for name, value in {"_cudnn": cudnn(), "_init": lambda: True, "__cudnn_version": CUDNN}.items():
        journal.set_item(module, name, value)
    limit = ContextProp(  # type: ignore[no-untyped-call]
        lambda: torch._C._cuda_get_cudnn_benchmark_limit(),
        lambda value: torch._C._cuda_set_cudnn_benchmark_limit(value),
    )
    journal.set_attribute(type(torch.backends.cudnn), "benchmark_limit", limit)


def _version() -> tuple[int, int, int]:
    return CUDNN // 10000, CUDNN // 100 % 100, CUDNN % 100


def _setting(getter: str, setter: str, value: Any) -> dict[str, Any]:
    kept = [value]

    def change(value: Any) -> None:
        kept[0] = value

    return {getter: lambda: kept[0], setter: change}


def _benchmark_limit() -> dict[str, Any]:
    getter, setter = "_cuda_get_cudnn_benchmark_limit", "_cuda_set_cudnn_benchmark_limit"
    functions = _setting(getter, setter, 10)

    def change(limit: int) -> None:
        if not isinstance(limit, int) or isinstance(limit, bool):
            raise RuntimeError(f"set_benchmark_limit_cudnn expects an int, but got {type(limit).__name__}")
        functions[setter](limit)

    return {getter: functions[getter], setter: change}


def _cublas(native: Any) -> dict[str, Any]:
    getter, setter = "_cuda_getCublasLtWorkspaceSize", "_cuda_setCublasLtWorkspaceSize"
    functions = _setting(getter, setter, CUBLASLT_WORKSPACE)
    return {
        **functions,
        "_cuda_resetCublasLtWorkspaceSize": partial(functions[setter], CUBLASLT_WORKSPACE),
        "_cuda_getCublasWorkspaceSize": native.cublas_workspace,
        "_cuda_setCublasWorkspaceSize": native.set_cublas_workspace,
        "_cuda_resetCublasWorkspaceSize": partial(native.set_cublas_workspace, None),
        "_cuda_clearCublasWorkspaces": native.clear_cublas_workspaces,
    }


def _tuning() -> dict[str, Any]:
    """Return the functions that report matrix products as not tuned; those that would tune them refuse."""
    defaults = {
        "tunableop_is_enabled": False,
        "tunableop_tuning_is_enabled": False,
        "record_untuned_is_enabled": False,
        "tunableop_get_filename": "",
        "tunableop_get_max_tuning_duration": 30,
        "tunableop_get_max_tuning_iterations": 100,
        "tunableop_get_rotating_buffer_size": 0,
    }
    return {f"_cuda_{name}": lambda value=value: value for name, value in defaults.items()}
