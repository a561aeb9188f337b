"""Reports of operations that wait for the device, for vendors that have CUDA's switch for them."""

from __future__ import annotations

_sync_debug_mode = 0


def set_sync_debug_mode(debug_mode: int | str) -> None:
    """Set whether synchronizing is reported: 0 or "default", 1 or "warn", 2 or "error"."""
    global _sync_debug_mode
    modes = {"default": 0, "warn": 1, "error": 2}
    mode = modes.get(debug_mode, -1) if isinstance(debug_mode, str) else debug_mode
    if mode not in modes.values():
        raise RuntimeError("invalid value of debug_mode, expected one of `default`, `warn`, `error`")
    _sync_debug_mode = mode


def get_sync_debug_mode() -> int:
    """Return what ``set_sync_debug_mode`` set, as a number."""
    return _sync_debug_mode
