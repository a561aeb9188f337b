"""The functions of libnvToolsExt that do not return 0."""

from __future__ import annotations

from ctypes import c_void_p
from typing import TYPE_CHECKING

from morph.kernels.libraries.callbacks import Callbacks

if TYPE_CHECKING:
    from morph.backends import Backend
    from morph.kernels.libraries.loading import Loaded

NOT_TRACKED = -2  # NVTX_NO_PUSH_POP_TRACKING


def functions(library: Loaded, backend: Backend) -> Callbacks:
    """Return the functions.

    Args:
        library: libnvToolsExt.
        backend: The backend that it serves.
    """
    calls = Callbacks(lambda name, error: NOT_TRACKED)
    pushing = "nvtxRangePushA", "nvtxRangePushW", "nvtxRangePushEx", "nvtxDomainRangePushEx"

    @calls.serve(*pushing, "nvtxRangePop", "nvtxDomainRangePop", takes=(c_void_p, c_void_p))
    def depth(first: int, second: int) -> int:
        return NOT_TRACKED

    return calls
