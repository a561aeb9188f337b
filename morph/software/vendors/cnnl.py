"""``torch.backends.mlu`` and ``torch.backends.cnnl``: the flags of Cambricon's libraries."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch.backends import ContextProp, PropModule, __allow_nonbracketed_mutation
from torch.nn.attention import SDPBackend, sdpa_kernel

from morph.software import devices
from morph.software.machine import started

flag: Any = ContextProp  # which has no annotations
_allowed = {"cnmatmul": False, "cnnl": True, "mlu_custom": True}


class CnnlMatmulTF32Controller:
    """``torch.backends.mlu.matmul``, which has one flag."""

    library = "cnmatmul"

    def __getattr__(self, name: str) -> Any:
        self._check(name)
        return _allowed[self.library]

    def __setattr__(self, name: str, value: Any) -> None:
        self._check(name)
        _allowed[self.library] = _bool(value)

    def _check(self, name: str) -> None:
        if name != "allow_tf32":
            raise AssertionError(f"Unknown attribute {name}")


class MLUCustomTF32Controller(CnnlMatmulTF32Controller):
    """``torch.backends.mlu.custom``, which has one flag."""

    library = "mlu_custom"


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
    _bool(value)
    warnings.warn(
        "When using MLU device, the cublas_allow_fp16_reduced_precision_reduction API does not take effect. "
        "And MLU only support compute type float32.",
        stacklevel=2,
    )


def _bool(value: Any) -> bool:
    if not isinstance(value, bool):
        raise RuntimeError(f"set_allow_tf32_cublas expects a bool, but got {type(value)}")
    return value


@dataclass
class SDPAParams:
    """The parameters of a question about fused attention, without groups of queries."""

    query: torch.Tensor
    key: torch.Tensor
    value: torch.Tensor
    attn_mask: torch.Tensor | None
    dropout: float
    is_causal: bool


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
    enable_cudnn: bool = False,
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
) -> tuple[Any, ...]:
    """Set CNNL's one flag, warn of the others, and return its former value."""
    before = (None, None, None, None, _allowed["cnnl"])
    others = {"enabled": _enabled, "benchmark": _benchmark, "benchmark_limit": _benchmark_limit}
    for name in (name for name, value in {**others, "deterministic": _deterministic}.items() if value):
        warnings.warn(f"torch.backends.cnnl.{name} is not available on MLU device.", stacklevel=2)
    if _allow_tf32 is not None:
        _allowed["cnnl"] = _allow_tf32
    return before


@contextmanager
def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int = 0,
    deterministic: bool = False,
    allow_tf32: bool = True,
) -> Iterator[None]:
    """Set CNNL's one flag for the length of a ``with`` block."""
    with __allow_nonbracketed_mutation():
        before = set_flags(enabled, benchmark, benchmark_limit, deterministic, allow_tf32)
    try:
        yield
    finally:
        with __allow_nonbracketed_mutation():
            set_flags(*before)


class CnnlModule(PropModule):
    """``torch.backends.cnnl``, a module with one flag."""

    allow_tf32 = flag(lambda: _allowed["cnnl"], lambda value: _allowed.update(cnnl=value))


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
    "matmul": CnnlMatmulTF32Controller(),
    "custom": MLUCustomTF32Controller(),
    "cnfft_plan_cache": cnFFTPlanCacheManager(),
}
