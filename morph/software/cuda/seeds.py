"""Seeds in a capture: CUDA takes the same one alone, as a graph reads seed and offset when it is replayed."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch

from morph.software import captured_streams, devices, generators

OTHER = (
    "CUDAGeneratorImpl::set_current_seed can be called during stream capture only if new seed is the same as "
    "the original seed."
)
DRAWN = (
    "Cannot call CUDAGeneratorImpl::seed during CUDA graph capture. If you need this call to be captured, "
    "please file an issue. Current cudaStreamCaptureStatus: cudaStreamCaptureStatusActive"
)


def place(module: ModuleType) -> None:
    """Make functions of ``torch.cuda`` refuse other seeds in a capture.

    Args:
        module: ``torch.cuda``.
    """
    random: Any = vars(module)["random"]
    checks: dict[str, Callable[..., Any]] = {
        "manual_seed": _keep,
        "manual_seed_all": _keep,
        "seed": _refuse,
        "seed_all": _refuse,
        "set_rng_state": _check_state,
    }
    for name, in_capture in checks.items():
        function = _checked(getattr(random, name), in_capture)
        for holder in (module, random):
            setattr(holder, name, function)


def _checked(function: Callable[..., Any], in_capture: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if captured_streams.capturing.branches is None:
            return function(*args, **kwargs)
        return in_capture(function, *args, **kwargs)

    return call


def _keep(function: Callable[..., Any], seed: int) -> None:
    _require(int(seed))


def _refuse(function: Callable[..., Any]) -> None:
    raise RuntimeError(DRAWN)


def _check_state(function: Callable[..., Any], new_state: torch.Tensor, *device: Any, **kwargs: Any) -> None:
    _require(int.from_bytes(bytes(new_state.tolist()[:8]), "little"))
    function(new_state, *device, **kwargs)


def _require(seed: int) -> None:
    generator = generators.get_default_generator(devices.current_device())
    if (generator.initial_seed() - seed) % 2**64:
        raise RuntimeError(OTHER)
