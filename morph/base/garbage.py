"""Python's garbage collector."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

_YOUNG = 10_000  # objects, which stay in the processor's caches
_NEVER = 1 << 30  # collections of the generation below


@contextlib.contextmanager
def only_young(is_wanted: bool = True) -> Iterator[None]:
    """Collect nothing but young garbage during a block, whose objects count as old at its end.

    While torch is imported, hundreds of collections visit objects that stay, all of them several times: about
    150 ms. Another full collection, some 100 ms, would be due right after it.

    Args:
        is_wanted: False changes nothing.
    """
    if not is_wanted or not gc.isenabled():
        yield
        return
    thresholds = gc.get_threshold()
    gc.set_threshold(_YOUNG, _NEVER, _NEVER)
    try:
        yield
    finally:
        _age()
        gc.set_threshold(*thresholds)


def _age() -> None:
    """Move all objects to the oldest generation, unvisited, unless the program keeps some out of it."""
    if not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()
