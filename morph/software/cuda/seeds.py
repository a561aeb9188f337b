"""Seeds and states in a capture: a graph keeps its seed, and each replay restores what it draws from."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from types import ModuleType
from typing import Any, cast

import torch

from morph.software import capture, devices, generators
from morph.software.devices import AnyDevice

OTHER = (
    "CUDAGeneratorImpl::set_current_seed can be called during stream capture only if new seed is the same as "
    "the original seed."
)
DRAWN = (
    "Cannot call CUDAGeneratorImpl::seed during CUDA graph capture. If you need this call to be captured, "
    "please file an issue. Current cudaStreamCaptureStatus: cudaStreamCaptureStatusActive"
)


SEED = 8  # bytes of a state, before those of the offset
_offsets = itertools.count(1 << 40, 4)  # of states in captures: what a replay has drawn is not known there


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
        "get_rng_state": _get_state,
        "set_rng_state": _set_state,
    }
    for name, in_capture in checks.items():
        function = _checked(getattr(random, name), in_capture)
        for holder in (module, random):
            setattr(holder, name, function)


def _checked(function: Callable[..., Any], in_capture: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        within = functools.partial(in_capture, function) if capture.current() else function
        return within(*args, **kwargs)

    return call


def _keep(function: Callable[..., Any], seed: int) -> None:
    _require(int(seed))


def _refuse(function: Callable[..., Any]) -> None:
    raise RuntimeError(DRAWN)


def _get_state(function: Callable[..., Any], device: AnyDevice = "cuda") -> torch.Tensor:
    graph, generator = capture.current(), generators._of(device).graphsafe_get_state()
    assert graph is not None
    saved, offset, state = graph.saved_states, next(_offsets), function(device)
    state[SEED:] = torch.tensor(list(offset.to_bytes(8, "little")), dtype=torch.uint8)
    saved[offset] = state
    graph.add(lambda: saved.__setitem__(offset, generator.get_state()))
    return cast("torch.Tensor", state)


def _set_state(function: Callable[..., Any], new_state: torch.Tensor, device: AnyDevice = "cuda") -> None:
    graph, generator = capture.current(), generators._of(device).graphsafe_get_state()
    assert graph is not None
    given = bytes(new_state.tolist())
    _require(int.from_bytes(given[:SEED], "little"))
    saved, offset = graph.saved_states, int.from_bytes(given[SEED:], "little")
    if offset in saved:
        graph.add(lambda: generator.set_state(saved[offset]))
    else:
        function(new_state, device)


def _require(seed: int) -> None:
    generator = generators.get_default_generator(devices.current_device())
    if (generator.initial_seed() - seed) % 2**64:
        raise RuntimeError(OTHER)
