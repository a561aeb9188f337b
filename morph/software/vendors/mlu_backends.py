"""``torch.backends.mlu`` and ``torch.backends.cnnl``: the flags of Cambricon's libraries."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.backends import ContextProp, PropModule, __allow_nonbracketed_mutation
from torch.backends.cuda import SDPAParams
from torch.nn.attention import SDPBackend, sdpa_kernel

from morph.software import devices
from morph.software.machine import started

flag: Any = ContextProp  # which has no annotations
HAS_PRECISIONS = hasattr(torch._C, "_get_fp32_precision_getter")  # torch 2.9
REDUCTIONS = ("allow_fp16_reduced_precision_reduction", "allow_bf16_reduced_precision_reduction")
_flags = {"benchmark": False, "deterministic": False}
_allowed = {"cnmatmul": False, "cnnl": True}


class CnnlMatmulModule:
    """``torch.backends.mlu.matmul``: TF32's switch, and two that have no effect."""

    def __getattr__(self, name: str) -> Any:
        if name == "allow_tf32":
            return _allowed["cnmatmul"]
        if name == "fp32_precision":
            return torch._C._get_fp32_precision_getter("cuda", "matmul")
        if name in REDUCTIONS:
            _warn_of_reduction(name, "get")
            return False
        raise AttributeError(f"Unknown attribute {name}")

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "allow_tf32":
            _allowed["cnmatmul"] = _bool(value)
        elif name == "fp32_precision":
            torch._C._set_fp32_precision_setter("cuda", "matmul", value)
        elif name in REDUCTIONS:
            _warn_of_reduction(name, "set")
        else:
            raise AttributeError(f"Unknown attribute {name}")


def _warn_of_reduction(name: str, what: str) -> None:
    warnings.warn(f"When using MLU device, the {what} {name} API does not take effect.", stacklevel=3)


def fake_set_cublas_allow_tf32(value: bool) -> None:
    """Replace the setter in torch, as torch_mlu does, by one that sets nothing."""
    _bool(value)
    warnings.warn(
        "When using MLU device, the cuda API does not take effect. "
        "Please use torch.backends.mlu.matmul.allow_tf32.",
        stacklevel=2,
    )


def fake_set_cublas_allow_fp16_reduced_precision_reduction(value: bool) -> None:
    """Replace the setter in torch, as torch_mlu does, by one that sets nothing."""
    _refuse_reduction("fp16", value)


def fake_set_cublas_allow_bf16_reduced_precision_reduction(value: bool) -> None:
    """Replace the setter in torch, as torch_mlu does, by one that sets nothing."""
    _refuse_reduction("bf16", value)


def _refuse_reduction(dtype: str, value: bool) -> None:
    _bool(value)
    warnings.warn(
        f"When using MLU device, cublas_allow_{dtype}_reduced_precision_reduction has no effect. "
        "And MLU only support compute type float32.",
        stacklevel=3,
    )


def _bool(value: Any) -> bool:
    if not isinstance(value, bool):
        raise RuntimeError(f"set_allow_tf32_cublas expects a bool, but got {type(value)}")
    return value


def can_use_flash_attention(params: SDPAParams, debug: bool = False) -> bool:
    """Return whether there is a fused kernel: never, since the kernels are the CPU's."""
    return _no_fused_kernel(params)


def can_use_efficient_attention(params: SDPAParams, debug: bool = False) -> bool:
    """Return whether there is a fused kernel: never, since the kernels are the CPU's."""
    return _no_fused_kernel(params)


def _no_fused_kernel(params: SDPAParams) -> bool:
    if not isinstance(params, SDPAParams):
        raise TypeError(f"incompatible function arguments: {type(params)}")
    return False


@contextmanager
def sdp_kernel(
    enable_flash: bool = True,
    enable_math: bool = True,
    enable_mem_efficient: bool = True,
    enable_cudnn: bool = True,
) -> Iterator[Any]:
    """Choose kernels of attention for the length of a ``with`` block."""
    chosen = {
        SDPBackend.FLASH_ATTENTION: enable_flash,
        SDPBackend.EFFICIENT_ATTENTION: enable_mem_efficient,
        SDPBackend.MATH: enable_math,
    }
    with sdpa_kernel([backend for backend, wanted in chosen.items() if wanted]) as context:
        yield context


class cnFFTPlanCache:
    """The plans of one device's Fourier transforms, of which none are kept here."""

    size = 0
    max_size = 4096

    def __init__(self, device_index: int) -> None:
        self.device_index = device_index

    def clear(self) -> None:
        """Do nothing: there are no plans to forget."""


class cnFFTPlanCacheManager:
    """All devices' plans by index; its own attributes are those of the current device's."""

    def __init__(self) -> None:
        object.__setattr__(self, "_caches", {})

    def __getitem__(self, device: Any) -> cnFFTPlanCache:
        index, count = devices._get_device_index(device), started().count
        if not 0 <= index < count:
            raise RuntimeError(
                f"cnfft_plan_cache: expected 0 <= device index < {count}, but got device with index {index}"
            )
        cache: cnFFTPlanCache = self._caches.setdefault(index, cnFFTPlanCache(index))
        return cache

    def __getattr__(self, name: str) -> Any:
        return getattr(self[devices.current_device()], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self[devices.current_device()], name, value)


def set_flags(
    _enabled: bool | None = None,
    _benchmark: bool | None = None,
    _benchmark_limit: int | None = None,
    _deterministic: bool | None = None,
    _allow_tf32: bool | None = None,
    _fp32_precision: str | None = "none",
) -> tuple[Any, ...]:
    """Set CNNL's flags, warn of those that it lacks, and return the former values."""
    before = (None, _flags["benchmark"], None, _flags["deterministic"], _allowed["cnnl"], _precision())
    for name, value in {"enabled": _enabled, "benchmark_limit": _benchmark_limit}.items():
        if value:
            warnings.warn(f"torch.backends.cnnl.{name} is not available on MLU device.", stacklevel=2)
    own = {"benchmark": _benchmark, "deterministic": _deterministic}
    _flags.update({name: value for name, value in own.items() if value is not None})
    if _allow_tf32 is not None:
        _allowed["cnnl"] = _allow_tf32
    if _fp32_precision is not None:
        _set_precision(_fp32_precision)
    return before


@contextmanager
def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int = 0,
    deterministic: bool = False,
    allow_tf32: bool = True,
    fp32_precision: str = "none",
) -> Iterator[None]:
    """Set CNNL's flags for the length of a ``with`` block."""
    with __allow_nonbracketed_mutation():
        before = set_flags(enabled, benchmark, benchmark_limit, deterministic, allow_tf32, fp32_precision)
    try:
        yield
    finally:
        with __allow_nonbracketed_mutation():
            set_flags(*before)


def _precision() -> str:
    return str(torch._C._get_fp32_precision_getter("cuda", "all")) if HAS_PRECISIONS else "none"


def _set_precision(value: str) -> None:
    if HAS_PRECISIONS:
        torch._C._set_fp32_precision_setter("cuda", "all", value)


class CnnlModule(PropModule):
    """``torch.backends.cnnl``, a module with flags."""

    allow_tf32 = flag(lambda: _allowed["cnnl"], lambda value: _allowed.update(cnnl=value))
    benchmark = flag(lambda: _flags["benchmark"], lambda value: _flags.update(benchmark=value))
    deterministic = flag(lambda: _flags["deterministic"], lambda value: _flags.update(deterministic=value))
    fp32_precision = flag(_precision, _set_precision)


_switches: dict[str, Callable[..., Any]] = {
    "flash_sdp_enabled": torch.backends.cuda.flash_sdp_enabled,
    "enable_flash_sdp": torch.backends.cuda.enable_flash_sdp,
    "mem_efficient_sdp_enabled": torch.backends.cuda.mem_efficient_sdp_enabled,
    "enable_mem_efficient_sdp": torch.backends.cuda.enable_mem_efficient_sdp,
    "math_sdp_enabled": torch.backends.cuda.math_sdp_enabled,
    "enable_math_sdp": torch.backends.cuda.enable_math_sdp,
}
NAMES = {
    **_switches,
    "SDPAParams": SDPAParams,
    "matmul": CnnlMatmulModule(),
    "cnfft_plan_cache": cnFFTPlanCacheManager(),
}
