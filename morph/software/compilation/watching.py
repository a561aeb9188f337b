"""What compiled code reads and writes, for ``--sanitize=sync`` and ``init``: inputs and results, whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from morph.software import settings
from morph.software.compilation.fakes import is_on_device
from morph.software.machine import started

NAME = "compiled code"  # in reports


def is_wanted() -> bool:
    """Return whether the device is to be told."""
    return not {settings.INIT, settings.SYNC}.isdisjoint(settings.sanitizers())


def run(code: Callable[[list[Any]], Any], inputs: list[Any], written: Sequence[int]) -> Any:
    """Run compiled code.

    Args:
        code: The code, which empties its list of inputs.
        inputs: What it takes.
        written: The places of the inputs that it writes to.
    """
    native = started().native
    read, changed = (
        [each for place, each in enumerate(inputs) if is_on_device(each) and (place in written) == is_written]
        for is_written in (False, True)
    )
    if settings.INIT in settings.sanitizers():
        native.check_read(NAME, read)
    results = code(inputs)
    if native.is_order_watched():
        native.queue_kernel(NAME, read, [*changed, *filter(is_on_device, results)])
    return results
