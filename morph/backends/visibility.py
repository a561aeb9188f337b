"""The visible devices: CUDA's variable in the words of the vendor's."""

from __future__ import annotations

import os
import re

from morph.backends.tables.table import Facts

CUDA_VARIABLE = "CUDA_VISIBLE_DEVICES"
NONE = "-1"  # every vendor's variable reads it as a device that does not exist, and shows none


def hides_all() -> bool:
    """Return whether CUDA's variable hides every device, which is how users choose the CPU."""
    return os.environ.get(CUDA_VARIABLE) in ("", NONE)


def in_vendors_words(facts: Facts, devices: str) -> tuple[str, str]:
    """Return the value of the vendor's variable that shows what a value of CUDA's shows.

    Args:
        facts: The backend's facts.
        devices: The value of CUDA's variable.

    Returns:
        The value, empty if there is none, and what has to be said about it, or nothing.
    """
    words = [word.strip() for word in devices.split(",")]
    if not re.fullmatch(r"\+?\d+|-\d+|", words[0], re.ASCII):
        own = facts.visible_devices
        return "", f"{CUDA_VARIABLE}={devices} names no {facts.title} devices and is ignored; set {own}"
    shown = _numbers(words)
    if not shown or len({*shown}) < len(shown):  # CUDA shows nothing if a device is named twice
        return NONE, ""
    if facts.visible_ascending and shown != sorted(shown):
        value = _joined(sorted(shown))
        return value, f"{facts.title} numbers its devices in the machine's order: {CUDA_VARIABLE}={value}"
    return _joined(shown), ""


def _numbers(words: list[str]) -> list[int]:
    """Return the numbers before the first word that is no number of a device, as CUDA's driver reads them."""
    numbers: list[int] = []
    for word in words:
        if not re.fullmatch(r"\+?\d+", word, re.ASCII):
            break
        numbers.append(int(word))
    return numbers


def _joined(numbers: list[int]) -> str:
    return ",".join(map(str, numbers))
