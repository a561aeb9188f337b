"""CUDA C++ extensions: ``torch.utils.cpp_extension`` builds them for the software device."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from morph.backends import Backend
    from morph.base.journal import Journal


def install(backend: Backend, journal: Journal) -> None:
    """Make ``torch.utils.cpp_extension`` build for the backend's device, once it is imported.

    Args:
        backend: The backend that serves CUDA's names.
        journal: Records every change.
    """
    from morph.finders.finder import on_import

    facts = backend.table.facts

    def place(module: object) -> None:
        from morph.kernels.extensions import building

        building.place(module, facts, journal)

    on_import("torch.utils.cpp_extension", place, journal)
