"""Triton on the software device: kernels become C++ for the host's processor."""

from __future__ import annotations

from types import ModuleType

from morph.backends import Backend
from morph.base.announcement import report
from morph.base.journal import Journal
from morph.finders.finder import on_import


def install(backend: Backend, journal: Journal) -> None:
    """Make triton find the software device as soon as it is imported.

    Args:
        backend: The backend that serves CUDA's names; nothing is done unless it is the software device.
        journal: Records every change.
    """
    if not backend.table.facts.software or backend.simulated:
        return

    def register(module: ModuleType) -> None:
        from morph.kernels.triton import registration

        try:
            registration.register(module, journal)
        except Exception as error:
            version = getattr(module, "__version__", "of an unknown release")
            report(f"the kernels of triton {version} cannot be compiled: {type(error).__name__}: {error}")
            raise

    on_import("triton", register, journal, "the compiler of Triton's kernels")
