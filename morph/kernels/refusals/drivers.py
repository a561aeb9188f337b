"""Kernels in triton on a vendor's device: the vendor's own triton runs them, and others refuse the launch."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from morph.backends import Backend
from morph.base.errors import MorphError
from morph.base.journal import Journal
from morph.finders.finder import on_import
from morph.kernels.refusals.table import packages


class NoDriverError(MorphError, RuntimeError):
    """The installed triton compiles for no device that is here."""


def install(backend: Backend, journal: Journal) -> None:
    """Let a launch say which triton to install, where the installed one does not know the device.

    A triton that knows it, such as the vendor's own, is left alone; and so is the import of any.

    Args:
        backend: The backend that serves CUDA's names.
        journal: Records every change.
    """
    if backend.table.facts.software and not backend.simulated:
        return

    def say(module: ModuleType) -> None:
        journal.set_attribute(module, "_create_driver", _saying(module._create_driver, backend))

    on_import("triton.runtime.driver", say, journal)


def advice(backend: str) -> str:
    """Return what to install for kernels in triton on a backend."""
    return str(packages()["triton"]["install"].get(backend, "install the vendor's own"))


def _saying(create: Callable[[], Any], backend: Backend) -> Callable[[], Any]:
    def create_driver() -> Any:
        try:
            return create()
        except RuntimeError as error:  # "0 active drivers ([]). There should only be one." (triton 3.7.1)
            title = backend.table.facts.title
            message = f"the installed triton does not compile for {title}; {advice(backend.name)}"
            raise NoDriverError(message) from error

    return create_driver
