"""The devices' random generators, for torch's private functions and for vendors that create them late."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, overload

import torch

from morph.backends import vendor_module


class DefaultGenerators(Sequence[torch.Generator]):
    """``torch.cuda.default_generators`` for a vendor that creates them when the device is initialised."""

    def __len__(self) -> int:
        return len(_generators())

    @overload
    def __getitem__(self, index: int) -> torch.Generator: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[torch.Generator]: ...
    def __getitem__(self, index: int | slice) -> torch.Generator | Sequence[torch.Generator]:
        return _generators()[index]

    def __iter__(self) -> Iterator[torch.Generator]:
        return iter(_generators())

    def __repr__(self) -> str:
        return repr(_generators())


default_generators = DefaultGenerators()


def get_generator(device: torch.device) -> torch.Generator:
    """Implement ``torch.cuda._get_generator(device)``."""
    cuda: Any = torch.cuda
    index: int = cuda._get_device_index(device, optional=True)
    return _generators()[index]


def get_rng_state_offset(device: Any = "cuda") -> int:
    """Implement ``torch.cuda._get_rng_state_offset(device)``."""
    return int(_of(device).get_offset())


def set_rng_state_offset(offset: int, device: Any = "cuda") -> None:
    """Implement ``torch.cuda._set_rng_state_offset(offset, device)``."""
    _of(device).set_offset(offset)


def _of(device: Any) -> Any:
    return get_generator(torch.device("cuda", device) if isinstance(device, int) else torch.device(device))


def _generators() -> tuple[torch.Generator, ...]:
    vendor = vendor_module()
    vendor._lazy_init()
    generators: tuple[torch.Generator, ...] = vendor.default_generators
    return generators
