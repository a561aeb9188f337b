"""Reports of synchronizing operations, which only torch's CUDA kernels make."""

from __future__ import annotations

import warnings

from morph.backends import active

_MODES = ("default", "warn", "error")
_mode = 0


def set_sync_debug_mode(debug_mode: int | str) -> None:
    """Store the mode. No synchronization is reported: the CPU has none, and a device gives a warning instead.

    Args:
        debug_mode: ``"default"``, ``"warn"`` or ``"error"``, or its number.

    Raises:
        RuntimeError: If it is not a mode.
    """
    global _mode
    if isinstance(debug_mode, str):
        if debug_mode not in _MODES:
            raise RuntimeError("invalid value of debug_mode, expected one of `default`, `warn`, `error`")
        debug_mode = _MODES.index(debug_mode)
    backend = active()
    if debug_mode and backend and backend.device_type != "cpu":
        warnings.warn(f"{backend.module} does not report operations that wait for the device", stacklevel=2)
    _mode = debug_mode


def get_sync_debug_mode() -> int:
    """Return the mode set by ``set_sync_debug_mode``."""
    return _mode
