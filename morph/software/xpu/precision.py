"""oneDNN's switch for TF32, which torch has where it is built for Intel GPUs."""

from __future__ import annotations

import types
from typing import Any

from morph.base.journal import Journal

_flags = types.SimpleNamespace(allow_tf32=False)


def attach(journal: Journal) -> None:
    """Let ``torch.backends.mkldnn.allow_tf32`` be set and read.

    Args:
        journal: Records every rebinding.
    """
    import torch.backends.mkldnn

    torch_c: Any = torch._C
    flag: Any = torch.backends.ContextProp
    journal.set_attribute(torch_c, "_get_onednn_allow_tf32", lambda: _flags.allow_tf32)
    journal.set_attribute(torch_c, "_set_onednn_allow_tf32", _allow_tf32)
    switch = flag(torch_c._get_onednn_allow_tf32, torch_c._set_onednn_allow_tf32)
    journal.set_attribute(type(torch.backends.mkldnn), "allow_tf32", switch)


def _allow_tf32(allowed: bool) -> None:
    if not isinstance(allowed, bool):
        raise TypeError(f"set_allow_tf32_onednn expects a bool, but got {type(allowed).__name__}")
    _flags.allow_tf32 = allowed
