"""How many software devices a process has, and how much memory each: what the user says, or the host has."""

from __future__ import annotations

import re

from morph import variables
from morph.errors import MorphError
from morph.software import host

UNITS = {"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
MOST_DEVICES = 64  # c10 numbers the devices of one kind with a signed byte, and torch.cuda expects no more
LEAST_MEMORY = 32 << 20  # room for the allocator's smallest segments
ROUND = 2 << 20  # the allocator's pages


class SettingsError(MorphError):
    """A number of devices or an amount of memory that cannot be meant."""


def devices(default: int) -> int:
    """Return how many devices there are: ``MORPH_DEVICES``, else ``default``.

    Raises:
        SettingsError: If the variable names no number of devices.
    """
    text = variables.read(variables.DEVICES)
    return default if text is None else parse_devices(text)


def memory(default: int) -> int:
    """Return the bytes of memory of each device: ``MORPH_DEVICE_MEMORY``, else ``default``.

    Raises:
        SettingsError: If the variable names no amount of memory, or more than the host has.
    """
    text = variables.read(variables.DEVICE_MEMORY)
    return default if text is None else parse_memory(text)


def parse_devices(text: str) -> int:
    """Read a number of devices.

    >>> parse_devices("4")
    4

    Raises:
        SettingsError: If it is no number from 1 to 64.
    """
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= MOST_DEVICES:
        raise SettingsError(f"a number of devices is from 1 to {MOST_DEVICES}, not {text!r}")
    return int(text)


def parse_memory(text: str) -> int:
    """Read an amount of memory as bytes.

    >>> parse_memory("64 MiB")
    67108864

    Raises:
        SettingsError: If it is no amount, too little to work with, or more than the host has.
    """
    matched = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(|[KMGT]iB)", text.strip())
    if matched is None:
        raise SettingsError(f"an amount of memory is a number with KiB, MiB, GiB or TiB, not {text!r}")
    wanted, most = int(float(matched[1]) * UNITS[matched[2]]), host.total_memory()
    if wanted < LEAST_MEMORY:
        raise SettingsError(f"a device needs at least {LEAST_MEMORY >> 20}MiB of memory, not {text}")
    if wanted > most:
        raise SettingsError(f"a device cannot have {text} of memory: the host has {most / (1 << 30):.1f}GiB")
    return wanted // ROUND * ROUND
