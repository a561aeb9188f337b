"""What child processes inherit, so that every Python among them runs under morph as well."""

from __future__ import annotations

import os
from collections.abc import MutableMapping
from typing import TYPE_CHECKING

from morph.variables import BACKEND, DEVICE_MEMORY, DEVICES, REHEARSE, SCOPE

if TYPE_CHECKING:
    from morph.finders.scope import Scope
    from morph.launcher.command import Options

PYTHONPATH = "PYTHONPATH"
SITE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "site")


def inherit(environment: MutableMapping[str, str], options: Options, scope: Scope) -> None:
    """Change ``environment`` so that a Python started with it runs under morph, as this one does.

    A folder with a ``sitecustomize.py`` of ours comes first on ``PYTHONPATH``. Interpreters that are told to
    leave the environment or ``site`` alone (``-E``, ``-I``, ``-S``) are left alone.
    """
    rest = [entry for entry in environment.get(PYTHONPATH, "").split(os.pathsep) if entry != SITE]
    environment[PYTHONPATH] = os.pathsep.join([SITE, *rest] if rest != [""] else [SITE])
    _set(environment, BACKEND, options.backend)
    _set(environment, REHEARSE, options.rehearse)
    _set(environment, DEVICES, options.devices)
    _set(environment, DEVICE_MEMORY, options.device_memory)
    _set(environment, SCOPE, scope.to_text() or None)


def _set(environment: MutableMapping[str, str], name: str, value: str | None) -> None:
    if value is not None:
        environment[name] = value
