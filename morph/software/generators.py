"""Random numbers of the simulated device: one generator for each device, kept as seed and offset."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from morph.software import devices
from morph.software.devices import AnyDevice
from morph.software.machine import Machine, started


def values(machine: Machine) -> dict[str, Any]:
    """Return the vendor's names on this subject that are not defined here."""
    return {"default_generators": of_all_devices()}


def of_all_devices() -> tuple[torch.Generator, ...]:
    """Return the generators that the devices use by default."""
    return tuple(get_default_generator(index) for index in range(started().count))


def get_default_generator(device_index: int) -> torch.Generator:
    """Return the generator that a device uses by default."""
    generator = started().native.default_generator(device_index)
    assert isinstance(generator, torch.Generator)
    return generator


def _get_generator(device: torch.device) -> torch.Generator:
    index = device.index if device.index is not None else devices.current_device()
    return get_default_generator(index)


def _of(device: AnyDevice) -> torch.Generator:
    return _get_generator(devices._get_device(device))


def get_rng_state(device: AnyDevice = None) -> torch.Tensor:
    """Return the state of a device's generator: 16 bytes, seed and offset."""
    return _of(device).get_state()


def set_rng_state(new_state: torch.Tensor, device: AnyDevice = None) -> None:
    """Set the state of a device's generator."""
    _of(device).set_state(new_state.clone(memory_format=torch.contiguous_format))


def get_rng_state_all() -> list[torch.Tensor]:
    """Return the states of all devices' generators."""
    return [get_rng_state(index) for index in range(started().count)]


def set_rng_state_all(new_states: Iterable[torch.Tensor]) -> None:
    """Set the states of all devices' generators."""
    for index, state in enumerate(new_states):
        set_rng_state(state, index)


def manual_seed(seed: int) -> None:
    """Seed the current device's generator."""
    _of(None).manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    """Seed the generators of all devices."""
    for index in range(started().count):
        get_default_generator(index).manual_seed(int(seed))


def seed() -> None:
    """Seed the current device's generator by chance."""
    _of(None).seed()


def seed_all() -> None:
    """Seed the generators of all devices alike, by chance."""
    manual_seed_all(_of(None).seed())


def initial_seed() -> int:
    """Return the seed of the current device's generator."""
    return _of(None).initial_seed()


def _get_rng_state_offset(device: AnyDevice = None) -> int:
    return int(_of(device).get_offset())


def _set_rng_state_offset(offset: int, device: AnyDevice = None) -> None:
    _of(device).set_offset(offset)
