"""States of generators in a capture: each replay saves and restores what it draws from."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from types import ModuleType
from typing import Any, cast

import torch

from morph.software import capture, generators
from morph.software.devices import AnyDevice

SEED = 8  # bytes of a state, before those of the offset
_offsets = itertools.count(1 << 40, 4)  # of states in captures: what a replay has drawn is not known there


def place(module: ModuleType) -> None:
    """Make functions of ``torch.cuda`` take part in a capture.

    Args:
        module: ``torch.cuda``.
    """
    random: Any = vars(module)["random"]
    for name, in_capture in (("get_rng_state", _get_state), ("set_rng_state", _set_state)):
        function = _checked(getattr(random, name), in_capture)
        for holder in (module, random):
            setattr(holder, name, function)


def _checked(function: Callable[..., Any], in_capture: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        within = functools.partial(in_capture, function) if capture.current() else function
        return within(*args, **kwargs)

    return call


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
    saved, offset = graph.saved_states, int.from_bytes(bytes(new_state[SEED:].tolist()), "little")
    function(new_state, device)
    if offset in saved:
        graph.add(lambda: generator.set_state(saved[offset]))
