"""Waiting for the program's import of torch, which then activates morph."""

from __future__ import annotations

import contextlib
import functools
import importlib
from collections.abc import Callable
from types import ModuleType

from morph.activation import process
from morph.activation.request import Request
from morph.base import announcement
from morph.base.importing import own_imports
from morph.finders.finder import finder
from morph.finders.packages.finder import packages as served_packages
from morph.finders.scope import WITHOUT_TORCH, loads_cuda

_armed: Callable[[ModuleType], None] | None = None


def wait_for_torch(request: Request) -> None:
    """Activate as ``request`` says once torch is imported, unless morph is active or waits already."""
    global _armed
    served_packages.install(request.scope)
    with process.lock:
        if _armed is None and not process.is_active():
            _armed = _Arming(request)
            finder.watch("torch", _armed)
            finder.prepare("torch", _armed.prepare)
            for name in WITHOUT_TORCH:
                finder.watch(name, _nothing)
                finder.prepare(name, functools.partial(_import_torch, name))


def is_armed() -> bool:
    """Return whether the import of torch will activate morph, by ``arm``."""
    return _armed is not None


def disarm() -> bool:
    """Stop waiting for torch; return whether the program was to be activated with it."""
    global _armed
    with process.lock:
        armed, _armed = _armed, None
        if armed is not None:
            finder.unwatch("torch", armed)
            for name in WITHOUT_TORCH:
                finder.unwatch(name, _nothing)
        return armed is not None


def _import_torch(before: str) -> None:
    if loads_cuda(before):
        with contextlib.suppress(ImportError):
            importlib.import_module("torch")


def _nothing(module: ModuleType) -> None:
    """Watch a module for what is prepared before it."""


class _Arming:
    """Waits for torch; meanwhile no vendor's package can break its import."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._resume: Callable[[Callable[[str], None]], None] = lambda report: None

    def prepare(self) -> None:
        """Keep out of torch's way; called right before torch is executed."""
        with own_imports:
            from morph.backends.autoload import Autoload

        served_packages.hide()
        self._resume = Autoload().resume

    def __call__(self, torch: ModuleType) -> None:
        self._resume(announcement.report)
        served_packages.show()
        disarm()
        with process.lock:
            if not process.is_active():
                self._begin()

    def _begin(self) -> None:
        try:
            process.begin(self._request)
        except Exception as error:  # whatever the error, torch can be imported
            if self._request.required:
                raise
            served_packages.uninstall()
            announcement.say_inactive(error)
        else:
            process.hold()
