"""Random numbers: the states and seeds of the process's device."""

from __future__ import annotations

import functools
import secrets
from collections.abc import Callable, Iterable
from typing import Any

import torch

from morph.aliases.adapters.tpu.devices import refuse_unless_own
from morph.backends import resolve, vendor_module
from morph.base.journal import Journal


def serve(journal: Journal) -> None:
    """Let torch_tpu's functions take ``"cuda:0"``, which ``torch.random.fork_rng(devices=...)`` hands them.

    They compare text with their own device type (0.2.0).

    Args:
        journal: Records the rebinding.
    """
    tpu = resolve("torch.tpu")
    for adapter in (get_rng_state, set_rng_state):
        vendors = getattr(tpu, adapter.__name__)
        call = functools.update_wrapper(functools.partial(adapter, vendors), vendors)  # a partial has no name
        journal.set_attribute(tpu, adapter.__name__, call)


def get_rng_state(target: Callable[[int], torch.Tensor], device: Any = "cuda") -> torch.Tensor:
    """Implement ``torch.cuda.get_rng_state(device)``.

    Args:
        target: torch_tpu's function, which takes an index.
        device: The device.
    """
    refuse_unless_own(device)
    return target(0)


def set_rng_state(
    target: Callable[[torch.Tensor, int], None], new_state: torch.Tensor, device: Any = "cuda"
) -> None:
    """Implement ``torch.cuda.set_rng_state(new_state, device)``."""
    refuse_unless_own(device)
    target(new_state, 0)


def get_rng_state_all() -> list[torch.Tensor]:
    """Implement ``torch.cuda.get_rng_state_all()`` for the one device of the process."""
    return [torch.cuda.get_rng_state()]


def set_rng_state_all(new_states: Iterable[torch.Tensor]) -> None:
    """Implement ``torch.cuda.set_rng_state_all(new_states)`` for the one device of the process."""
    for state in new_states:
        torch.cuda.set_rng_state(state)


def seed() -> None:
    """Implement ``torch.cuda.seed()``; the generator's own may be a seed that it cannot return (0.2.0)."""
    vendor_module().manual_seed(secrets.randbits(63))


seed_all = seed
