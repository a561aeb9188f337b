"""The number of software devices of a process, their memory, and the card that they stand for."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from morph.base import variables
from morph.base.errors import MorphError
from morph.software import cards

if TYPE_CHECKING:
    from morph.backends.tables.table import Facts

GIB = 1 << 30
UNITS = {"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": GIB, "TiB": 1 << 40}
MOST_DEVICES = 64  # c10 numbers the devices of one kind with a signed byte, and torch.cuda expects no more
LEAST_MEMORY = 32 << 20  # room for the allocator's smallest segments
ROUND = 2 << 20  # the allocator's pages
ALL = "all"
OF_DEVICE = "1"  # the value of MORPH_FIT that names no card
PADDING = 512  # bytes after an allocation that the sanitizer keeps empty: as much as sizes are rounded to
KEPT = 8 << 20  # bytes of freed memory that it keeps of a device, and 32 times as much of up to 16 blocks
SANITIZERS = MEMORY, INIT, RACE, SYNC, HOST, LEAK = "memory", "init", "race", "sync", "host", "leak"
IN_TRITON = {MEMORY, INIT, RACE}  # looked for in its kernels' code
CPP, TRITON = LANGUAGES = "cpp", "triton"  # what inductor generates
TOOLKIT = "13.0"  # the version of CUDA where torch was built without it
DRIVER = "580.65.06"  # that came with it, by NVIDIA's release notes of CUDA; V100 has none later


class Size(NamedTuple):
    """The number of software devices, the memory of each, and the card that they stand for.

    Attributes:
        devices: How many devices there are; None leaves it open.
        memory: Bytes of each device; None leaves it open.
        profile: The name of the card's profile; None leaves it open.
    """

    devices: int | None = None
    memory: int | None = None
    profile: str | None = None


REHEARSED = Size(devices=2, memory=64 * GIB)
REHEARSED_CARDS = {"rocm": "mi300x"}  # by backend
LOCAL_PROCESSES = "LOCAL_WORLD_SIZE"  # set by torchrun


class SettingsError(MorphError):
    """An invalid number of devices or amount of memory."""

    def __init__(self, source: str, problem: str) -> None:
        super().__init__(f"{source}: {problem}")


def size(
    devices: str | int | None, memory: str | int | None, profile: str | None, sources: tuple[str, str, str]
) -> Size:
    """Return the size that a caller or a command line asks for.

    Args:
        devices: The number of devices; None leaves it open.
        memory: The memory of each, in bytes or with a unit; None leaves it open.
        profile: The name of a card's profile; None leaves it open.
        sources: What the three are called where they were given, for an error.

    Raises:
        SettingsError: If one of the first two cannot be meant.
        UnknownCardError: If there is no such profile.
    """
    return Size(
        devices=None if devices is None else parse_devices(str(devices), sources[0]),
        memory=None if memory is None else parse_memory(str(memory), sources[1]),
        profile=None if profile is None else cards.load(profile, sources[2]).name,
    )


def settle(facts: Facts, asked: Size) -> Size:
    """Return the number of devices, hidden ones included, the bytes of each, and the card.

    What is left open is what the environment variables say, then the memory of a card that was asked for,
    else two devices of 64 GiB in a rehearsal, and on the CPU one, or as many as a launcher starts processes
    on this machine, with equal shares of the host's memory.

    Args:
        facts: Of the backend's alias table.
        asked: What the caller asks for.

    Raises:
        SettingsError: If an environment variable cannot be meant, or the backend has no such card.
        UnknownCardError: If there is no such profile.
    """
    configured = size(
        variables.read(variables.DEVICES),
        variables.read(variables.DEVICE_MEMORY),
        variables.read(variables.DEVICE_PROFILE) or _card_to_fit(),
        (variables.DEVICES, variables.DEVICE_MEMORY, variables.DEVICE_PROFILE),
    )
    card = _card(facts, asked.profile or configured.profile)
    devices = asked.devices or configured.devices or (_processes() if facts.software else REHEARSED.devices)
    assert devices is not None
    memory = asked.memory or configured.memory or (card.memory if card else _default_memory(facts, devices))
    return Size(devices, memory, card.name if card else REHEARSED_CARDS.get(facts.name))


def _card(facts: Facts, profile: str | None) -> cards.Card | None:
    if profile is None:
        return None
    card = cards.load(profile, variables.DEVICE_PROFILE)
    if card.backend != facts.name:
        raise SettingsError(
            f"the profile {profile}",
            f"the devices of {facts.name} cannot be this card, those of {card.backend} can",
        )
    return card


def _default_memory(facts: Facts, devices: int) -> int:
    assert REHEARSED.memory is not None
    return _share(devices) if facts.software else REHEARSED.memory


def parse_devices(text: str, source: str = variables.DEVICES) -> int:
    """Read a number of devices.

    >>> parse_devices("4")
    4

    Raises:
        SettingsError: If it is no number from 1 to 64.
    """
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= MOST_DEVICES:
        raise SettingsError(source, f"the number of devices must be from 1 to {MOST_DEVICES}, not {text!r}")
    return int(text)


def parse_memory(text: str, source: str = variables.DEVICE_MEMORY) -> int:
    """Read an amount of memory as bytes.

    >>> parse_memory("64 MiB")
    67108864

    Raises:
        SettingsError: If it is no amount, too little to work with, or more than the host has.
    """
    matched = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(|[KMGT]iB)", text.strip())
    if matched is None:
        raise SettingsError(
            source, f"an amount of memory must be a number with KiB, MiB, GiB or TiB, not {text!r}"
        )
    wanted, most = int(float(matched[1]) * UNITS[matched[2]]), _host_memory()
    if wanted < LEAST_MEMORY:
        raise SettingsError(source, f"a device needs at least {LEAST_MEMORY >> 20}MiB of memory, not {text}")
    if wanted > most:
        raise SettingsError(
            source, f"a device cannot have {text} of memory: the host has {most / GIB:.1f}GiB"
        )
    return wanted // ROUND * ROUND


def inductor() -> str:
    """Return the language of the code that inductor generates for the device, ``"cpp"`` or ``"triton"``.

    Raises:
        SettingsError: If the environment variable names neither.
    """
    language = variables.read(variables.INDUCTOR) or CPP
    if language not in LANGUAGES:
        raise SettingsError(variables.INDUCTOR, f"inductor generates cpp or triton here, not {language!r}")
    return language


def sanitizers(text: str | None = None, source: str = variables.SANITIZE) -> tuple[str, ...]:
    """Return what to look for: some of ``SANITIZERS``.

    >>> sanitizers("race")
    ('race',)

    Args:
        text: Their names, with commas between them, or ``"all"``; None for the environment variable's.
        source: What the text is called where it was given, for an error.

    Raises:
        SettingsError: If there is no such check.
    """
    if text is None:
        text, source = variables.read(variables.SANITIZE), variables.SANITIZE
    if text is None:
        return ()
    names = SANITIZERS if text == ALL else tuple(text.split(","))
    for name in names:
        if name not in SANITIZERS:
            raise SettingsError(source, f"what is checked must be of {', '.join(SANITIZERS)}, not {name!r}")
    return names


def is_fitted() -> bool:
    """Return whether to tell if the program fits in the devices' memory."""
    return variables.read(variables.FIT) is not None


def _card_to_fit() -> str | None:
    name = variables.read(variables.FIT)
    return None if name in (None, OF_DEVICE) else cards.load(str(name), variables.FIT).name


def _processes() -> int:
    text = os.environ.get(LOCAL_PROCESSES, "")
    return min(max(1, int(text)), MOST_DEVICES) if text.isascii() and text.isdigit() else 1


def _share(devices: int) -> int:
    return _host_memory() // devices // ROUND * ROUND


def _host_memory() -> int:
    from morph.base import host

    return host.total_memory()
