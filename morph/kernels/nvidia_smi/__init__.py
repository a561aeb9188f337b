"""``nvidia-smi`` for child processes: a program on ``PATH`` that reads the backend's devices."""

from __future__ import annotations

import os
from collections.abc import MutableMapping
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
    from morph.kernels.nvidia_smi.machine import Description

    with journal.tolerating("nvidia-smi on PATH"):
        changed = dict(os.environ)
        put_on_path(changed)
        if changed.get("PATH") != os.environ.get("PATH"):
            journal.set_item(os.environ, "PATH", changed["PATH"])
        journal.set_item(os.environ, variables.MACHINE, Description.of(backend).to_text())


def put_on_path(environment: MutableMapping[str, str]) -> None:
    """Put morph's ``nvidia-smi`` on an environment's ``PATH``, unless there is one already.

    Raises:
        OSError: If there is no folder for it.
    """
    from morph.kernels.nvidia_smi import launcher

    launcher.put_on_path(environment)
