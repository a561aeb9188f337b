"""torch's loading of device extensions, delayed until torch is imported, so that none breaks its import.

torch loads them at the end of its own import (``_import_device_backends``, pytorch/pytorch#122468), and an
error of one is an error of ``import torch``.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import sys
from collections.abc import Callable
from types import ModuleType

from morph.backends.tables import table

VARIABLE = "TORCH_DEVICE_BACKEND_AUTOLOAD"


class Autoload:
    """Keeps torch from loading device extensions from now on, and loads them when torch has initialised.

    The vendors that morph has a table for are left to the choice of a backend.
    """

    def __init__(self) -> None:
        self._setting = os.environ.get(VARIABLE)
        os.environ[VARIABLE] = "0"

    def restore(self) -> None:
        """Restore the user's setting."""
        if self._setting is None:
            os.environ.pop(VARIABLE, None)
        else:
            os.environ[VARIABLE] = self._setting

    def resume(self, report: Callable[[str], None]) -> None:
        """Restore the user's setting and, if it allows, load the extensions that no table describes."""
        self.restore()
        if self._setting in (None, "1"):
            _load_others(report)


def import_torch() -> ModuleType:
    """Import torch, if it is not imported yet, without the device extensions that it would load."""
    if "torch" not in sys.modules:
        autoload = Autoload()
        try:
            importlib.import_module("torch")
        finally:
            autoload.restore()
    return sys.modules["torch"]


def _load_others(report: Callable[[str], None]) -> None:
    known = {table.facts(name).vendor for name in table.backend_names()}
    for extension in importlib.metadata.entry_points(group="torch.backends"):
        if extension.module.partition(".")[0] in known:
            continue
        try:
            extension.load()()
        except (Exception, SystemExit) as error:  # whatever it raises, `import torch` must survive it
            report(f"torch's device extension {extension.name!r} fails to load: {error}")
