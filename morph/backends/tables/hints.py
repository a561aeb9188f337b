"""Hints for words that name no backend, though people know the vendor, or torch's device type, by them."""

from __future__ import annotations

from collections.abc import Iterable

from morph.backends.tables.rows import Facts
from morph.base.errors import did_you_mean

NVIDIA = (
    "; {} is what the program asks for: name the backend that serves it, or leave the choice to morph, which "
    "stays out where a working NVIDIA GPU is"
)
APPLE = "; morph has none for Apple's devices, and runs on Linux: cpu is a software device"
MEANINGS = {"cuda": NVIDIA, "gpu": NVIDIA, "nvidia": NVIDIA, "mps": APPLE, "metal": APPLE}


def hint(word: str, backends: Iterable[Facts]) -> str:
    """Return the end of a message about a word that names no backend; empty if it is like none.

    Args:
        word: The word.
        backends: The facts of those that there are.
    """
    plain, known = word.lower(), list(backends)
    if plain in MEANINGS:
        return MEANINGS[plain].format(word)
    for facts in known:
        if plain in _words(facts):
            return f"; did you mean {facts.name} ({facts.title})?"
    return did_you_mean(plain, [facts.name for facts in known])


def _words(facts: Facts) -> set[str]:
    own = (facts.name, facts.vendor, facts.distribution, facts.built, *facts.title.lower().split())
    return {*filter(None, own)}
