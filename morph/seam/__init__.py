"""The device seam: what makes "cuda" another name of the backend's device below Python.

Nothing else knows which of the two seams is active: the native one, built once per torch version, or, where
there is no compiler, the small one in Python.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Literal, Protocol

from morph.errors import MorphError


class Seam(Protocol):
    """What makes CUDA another name of one device type, until it is told to stop."""

    @property
    def kind(self) -> Literal["native", "python"]:
        """Which of the two it is, for reports."""

    @property
    def problem(self) -> str | None:
        """Why it is not the native one, if that was wanted."""

    def engage(self, device_type: str) -> None:
        """Makes CUDA a name of `device_type`; engaging twice is engaging once.

        Args:
            device_type: The target as torch names it: "npu", "xpu".
        """

    def leave_out_formats(self, operators: Sequence[str], saying: str) -> None:
        """Has operators that refuse a memory format compute without one, until the seam is disengaged.

        Args:
            operators: Their names: "aten::empty.memory_format".
            saying: The line that is said when that happens first.
        """

    def reduce_on_host(self, dtypes: Sequence[str], saying: str) -> None:
        """Has collectives reduce dtypes on the host that the vendor's library refuses.

        Args:
            dtypes: torch's names of them: "float64".
            saying: The line that is said when that happens first.
        """

    def disengage(self) -> None:
        """Puts everything back that was changed."""

    def caught(self) -> dict[str, int]:
        """Returns how many calls came through, by operator name."""


def open_seam(progress: Callable[[str], None] | None = None) -> Seam:
    """Opens the native seam, or the Python seam where the native one cannot be built.

    Args:
        progress: Told one line when something takes long or goes another way than wished.

    Returns:
        A seam that changes nothing before it is engaged.
    """
    from morph.seam.small import PythonSeam

    if os.environ.get("MORPH_SEAM") == "python":
        return PythonSeam()
    try:
        from morph.seam.native import NativeSeam

        return NativeSeam(progress)
    except MorphError as error:
        if progress is not None:
            progress(f"using the slower Python seam: {error}")
        return PythonSeam(str(error))
