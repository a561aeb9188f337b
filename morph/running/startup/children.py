"""The environment that makes child processes run under morph."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, MutableMapping
from typing import TYPE_CHECKING

from morph.base.variables import SCOPE
from morph.kernels import nvidia_smi

if TYPE_CHECKING:
    from morph.finders.scope import Scope

PYTHONPATH = "PYTHONPATH"
SITE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "site")


def inherit(environment: MutableMapping[str, str], settings: Mapping[str, str | None], scope: Scope) -> None:
    """Change ``environment`` so that a Python started with it runs under morph, as this one does.

    A folder with morph's ``sitecustomize.py`` comes first on ``PYTHONPATH``, and morph's ``nvidia-smi`` is on
    ``PATH``. Interpreters that ignore the environment or ``site`` (``-E``, ``-I``, ``-S``) are not affected.

    Args:
        environment: The environment of the children.
        settings: The variables of morph's that they inherit; one that is None stays as it is.
        scope: Whose code sees CUDA.
    """
    with contextlib.suppress(OSError):  # which activation reports
        nvidia_smi.put_on_path(environment)
    rest = [entry for entry in environment.get(PYTHONPATH, "").split(os.pathsep) if entry != SITE]
    environment[PYTHONPATH] = os.pathsep.join([SITE, *rest] if rest != [""] else [SITE])
    for name, value in {**settings, SCOPE: scope.to_text() or None}.items():
        if value is not None:
            environment[name] = value
