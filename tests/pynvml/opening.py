"""The served pynvml, opened, and what it refuses."""

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest


@contextlib.contextmanager
def opened() -> Iterator[Any]:
    """Yield pynvml, initialised for the duration of a ``with`` block."""
    import pynvml

    pynvml.nvmlInit()
    try:
        yield pynvml
    finally:
        pynvml.nvmlShutdown()


def not_supported(function: Any, *arguments: Any) -> str:
    """Assert that a function raises that it is not supported, and return the reason."""
    import pynvml

    with pytest.raises(pynvml.NVMLError_NotSupported) as caught:
        function(*arguments)
    assert str(caught.value) == "Not Supported"
    (note,) = caught.value.__notes__
    return str(note)
