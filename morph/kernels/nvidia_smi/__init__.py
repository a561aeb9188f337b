"""``nvidia-smi`` for child processes: a program on ``PATH`` that reads the backend's devices."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from morph.base import variables

if TYPE_CHECKING:
    from morph.backends import Backend
    from morph.base.journal import Journal


def install(backend: Backend, journal: Journal) -> None:
    """Make child processes find ``nvidia-smi``, which reports this process's devices.

    Args:
        backend: The backend that serves CUDA's names.
        journal: Records every change.
    """
    from morph.kernels.nvidia_smi.launcher import put_on_path
    from morph.kernels.nvidia_smi.machine import Description

    with journal.tolerating("nvidia-smi on PATH"):
        changed = dict(os.environ)
        put_on_path(changed)
        if changed.get("PATH") != os.environ.get("PATH"):
            journal.set_item(os.environ, "PATH", changed["PATH"])
        journal.set_item(os.environ, variables.MACHINE, Description.of(backend).to_text())
