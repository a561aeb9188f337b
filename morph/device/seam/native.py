"""The native seam, behind the interface of ``morph.device.seam.Seam``."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Literal

from morph.base import native

loaded: ModuleType | None = None  # the module that NativeSeam has loaded, for queries about the host's memory


class NativeSeam:
    """CUDA as another name of a device type, in torch's C++ core."""

    kind: Literal["native"] = "native"
    problem = None

    def __init__(self) -> None:
        global loaded
        if loaded is None:
            loaded = native.load(native.part("seam"))
        self._module = loaded

    def engage(self, device_type: str) -> None:
        """Make CUDA a name of ``device_type``."""
        self._module.engage(device_type)

    def expect_devices(self, count: int) -> None:
        """Say how many devices there are, so that the vendor is not asked; -1 asks it again."""
        self._module.expect_devices(count)

    def leave_out_formats(self, operators: Sequence[str], saying: str) -> None:
        """Has operators of the target compute without the memory formats that they refuse."""
        self._module.leave_out_formats(tuple(operators), saying)

    def reduce_on_host(self, dtypes: Sequence[str], saying: str) -> None:
        """Has collectives of the target gather these dtypes and reduce them on the host."""
        self._module.reduce_on_host(tuple(dtypes), saying)

    def disengage(self) -> None:
        """Put back every pointer, registration and kernel."""
        self._module.disengage()

    def caught(self) -> dict[str, int]:
        """Return the number of redirected calls by operator name."""
        calls: dict[str, int] = self._module.caught()
        return calls
