"""cuBLAS, cuFFT and cuRAND for programs that load them: the functions that extensions are linked to."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

from morph.kernels.extensions import runtime
from morph.kernels.libraries.callbacks import Callbacks
from morph.software.machine import is_started

if TYPE_CHECKING:
    from morph.backends import Backend
    from morph.kernels.libraries.loading import Loaded


def functions(library: Loaded, backend: Backend) -> Callbacks:
    """Return the functions.

    Args:
        library: One of the three.
        backend: The backend that it serves.
    """
    calls = Callbacks(lambda name, error: library.table.refusal)
    if not is_started():
        return calls
    own = runtime()
    for name in library.table.releases[library.file]:
        if library.table.entry(name).is_served:
            known = name if hasattr(own, name) else name.replace("_v2", "")
            calls.serve_address(name, ctypes.cast(own[known], ctypes.c_void_p))
    return calls
