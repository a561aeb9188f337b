"""The device seam, which makes "cuda" another name of the backend's device below Python.

There are two with one interface: the native one, built once per torch version, and, where there is no
compiler, a smaller one in Python.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Literal, Protocol

from morph.base.errors import MorphError
from morph.finders.torch_cuda.views import Views


class Seam(Protocol):
    """Makes CUDA another name of one device type, until it is disengaged."""

    @property
    def kind(self) -> Literal["native", "python"]:
        """The kind of seam, for reports."""

    @property
    def problem(self) -> str | None:
        """Why it is not the native one, if that was wanted."""

    def engage(self, device_type: str) -> None:
        """Make CUDA a name of ``device_type``; engaging twice is engaging once.

        Args:
            device_type: The target as torch names it: "npu", "xpu".
        """

    def expect_devices(self, count: int) -> None:
        """Say how many devices there are until one is used: asking the vendor fixes which are visible.

        Args:
            count: The number; -1 to ask the vendor.
        """

    def answer_by_caller(self, views: Views) -> None:
        """Let devices be "cuda" to code that sees CUDA, and the vendor's to all other code.

        Args:
            views: Decides which code that is.
        """

    def leave_out_formats(self, operators: tuple[str, ...], saying: str) -> None:
        """Let operators that refuse a memory format compute without one, until the seam is disengaged.

        Args:
            operators: Their names: "aten::empty.memory_format".
            saying: The line that is said when that happens first.
        """

    def reduce_on_host(self, dtypes: tuple[str, ...], saying: str) -> None:
        """Reduce dtypes on the host that the vendor's library refuses.

        Args:
            dtypes: torch's names of them: "float64".
            saying: The line that is said when that happens first.
        """

    def compute_rest_on_host(self) -> None:
        """Compute on the host what the vendor has no kernel for; a line says so once for each operator."""

    def order_copies(self, saying: str) -> None:
        """Let copies that are not blocking end before they return where the host's memory is not pinned.

        Args:
            saying: The line that is said when the vendor first can pin no memory for one.
        """

    def tell_exhaustion(self, words: str) -> None:
        """Make the vendor's error for exhausted memory a ``torch.OutOfMemoryError`` where the host waits.

        Args:
            words: What the vendor's text has in it.
        """

    def count_waits(self) -> None:
        """Count how often the host waits for a number of the device's, until the seam is disengaged."""

    def waits(self) -> tuple[int, int]:
        """Return that count, and the thread that waits now, by ``Thread.ident``, or 0."""

    def number_by_local_rank(self) -> None:
        """Let the one device of a process, the vendor's 0, be CUDA's device number ``LOCAL_RANK``."""

    def disengage(self) -> None:
        """Put everything back that ``engage`` changed."""

    def caught(self) -> dict[str, int]:
        """Return the number of redirected calls by operator name."""


def is_python_chosen() -> bool:
    """Return whether the environment asks for the Python seam."""
    return os.environ.get("MORPH_SEAM") == "python"


def open_seam(progress: Callable[[str], None] | None = None) -> Seam:
    """Open the native seam, or the Python seam where the native one cannot be built.

    Args:
        progress: Called with one line on a fallback.

    Returns:
        A seam that changes nothing before it is engaged.
    """
    from morph.device.seam.small import PythonSeam

    if is_python_chosen():
        return PythonSeam()
    try:
        from morph.device.seam.native import NativeSeam

        return NativeSeam()
    except MorphError as error:
        if progress is not None:
            progress(f"using the slower Python seam: {error}")
        return PythonSeam(str(error))
