"""Random numbers: tensors on "cuda" draw from torch's default CPU generator, so that is the one to seed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from morph.aliases.torch_cuda.cpu.device import index_of

default_generators = (torch.default_generator,)

# A state of CUDA's Philox generator is a seed and an offset
_BYTES_ON_CUDA = 16


def get_generator(device: Any = None) -> torch.Generator:
    """Return the generator of ``device``."""
    index_of(device, optional=True)
    return default_generators[0]


def manual_seed(seed: int) -> None:
    """Seed the CPU's generator."""
    get_generator().manual_seed(int(seed))


def seed() -> None:
    """Seed the CPU's generator by chance."""
    get_generator().seed()


def initial_seed() -> int:
    """Return what the CPU's generator was seeded with."""
    return get_generator().initial_seed()


def get_rng_state(device: Any = "cuda") -> torch.Tensor:
    """Return the generator's state, uint8 of 5056 elements (16 on CUDA)."""
    return get_generator(device).get_state()


def set_rng_state(new_state: torch.Tensor, device: Any = "cuda") -> None:
    """Set the generator's state to one that ``get_rng_state`` returned.

    Raises:
        RuntimeError: If it is the state of a GPU's generator, which cannot be turned into this one's.
    """
    if new_state.numel() == _BYTES_ON_CUDA:
        raise RuntimeError(
            "this RNG state was saved on a CUDA GPU; the CPU's generator has no such state: "
            "seed it instead, torch.cuda.manual_seed_all(seed)"
        )
    get_generator(device).set_state(new_state)


def get_rng_state_all() -> list[torch.Tensor]:
    """Return the states of all generators, of which there is one."""
    return [get_rng_state(0)]


def set_rng_state_all(new_states: Iterable[torch.Tensor]) -> None:
    """Set the states of all generators, of which there is one."""
    for index, state in enumerate(new_states):
        set_rng_state(state, index)
