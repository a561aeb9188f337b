"""CUDA's words in the error for exhausted memory, which programs look for."""

from __future__ import annotations

import re
from typing import Any

import torch

from morph.base.journal import Journal
from morph.device.words import Words


def install(words: Words, journal: Journal) -> None:
    """Make the error that a vendor raises for exhausted memory begin as CUDA's does.

    The text is changed when an error is made, so that ``str()``, ``args`` and a pickle of it agree.
    """
    vendors = getattr(words.backend.namespace, "OutOfMemoryError", torch.OutOfMemoryError)
    for kind in dict.fromkeys((torch.OutOfMemoryError, vendors)):
        journal.set_attribute(kind, "__init__", _initialize(kind, words.backend.name.upper()))


def in_cudas_words(text: str, word: str) -> str:
    """Return ``text`` in CUDA's words if it begins with "``word`` out of memory", else as it is.

    The vendor's own words stay at the end of the first line, for a program that looks for these.

    >>> in_cudas_words("NPU out of memory. Tried to allocate 2.00 GiB", "NPU")
    'CUDA out of memory. Tried to allocate 2.00 GiB (NPU out of memory)'
    """
    vendors = f"{word} out of memory"
    if not text.startswith(vendors):
        return text
    translated = "CUDA out of memory" + text.removeprefix(vendors)
    return re.sub(r"$", f" ({vendors})", translated, count=1, flags=re.MULTILINE)


def _initialize(kind: Any, word: str) -> Any:
    def __init__(self: Any, *args: Any) -> None:
        translated = (in_cudas_words(each, word) if isinstance(each, str) else each for each in args)
        super(kind, self).__init__(*translated)

    return __init__
