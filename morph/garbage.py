"""Python's garbage collector."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def paused(is_wanted: bool = True) -> Iterator[None]:
    """Pause the garbage collector for a block.

    After ``import torch`` a full collection is due, and visits several hundred thousand objects (about 100
    ms). The block's objects count as old at its end, so that they do not set it off.

    Args:
        is_wanted: False changes nothing.
    """
    was_enabled = is_wanted and gc.isenabled()
    if was_enabled:
        gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            _age()
            gc.enable()


def _age() -> None:
    """Move all objects to the oldest generation, unvisited, unless the program keeps some out of it."""
    if not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()
