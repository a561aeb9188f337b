"""Automatic mixed precision of the simulated device: torch's own classes with the vendor's device type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from morph.software.machine import started


class autocast(torch.amp.autocast_mode.autocast):
    """``torch.autocast`` of the vendor's device type."""

    def __init__(
        self, enabled: bool = True, dtype: torch.dtype = torch.float16, cache_enabled: bool = True
    ) -> None:
        super().__init__(started().device_type, enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


class GradScaler(torch.amp.grad_scaler.GradScaler):
    """``torch.amp.GradScaler`` of the vendor's device type."""

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        numbers = (init_scale, growth_factor, backoff_factor, growth_interval)
        super().__init__(started().device_type, *numbers, enabled=enabled)


def custom_fwd(fwd: Callable[..., Any] | None = None, *, cast_inputs: torch.dtype | None = None) -> Any:
    """``torch.amp.custom_fwd`` of the vendor's device type."""
    return torch.amp.custom_fwd(fwd, device_type=started().device_type, cast_inputs=cast_inputs)


def custom_bwd(bwd: Callable[..., Any]) -> Any:
    """``torch.amp.custom_bwd`` of the vendor's device type."""
    return torch.amp.custom_bwd(bwd, device_type=started().device_type)


def get_amp_supported_dtype() -> list[torch.dtype]:
    """Return the dtypes that autocast may use."""
    return [getattr(torch, name) for name in started().quirks.amp_dtypes]


def is_autocast_enabled() -> bool:
    """Return whether autocast is on for this device type."""
    return torch.is_autocast_enabled(started().device_type)


def set_autocast_enabled(enable: bool) -> None:
    """Turn autocast on or off for this device type."""
    torch.set_autocast_enabled(started().device_type, enable)


def get_autocast_dtype() -> torch.dtype:
    """Return the dtype that autocast uses on this device type."""
    return torch.get_autocast_dtype(started().device_type)


def set_autocast_dtype(dtype: torch.dtype) -> None:
    """Set the dtype that autocast uses on this device type."""
    torch.set_autocast_dtype(started().device_type, dtype)


def amp_definitely_not_available() -> bool:
    """Return whether there is no device for mixed precision."""
    return False
