"""The backends that a program may get, as far as known before torch is imported."""

from __future__ import annotations

import functools

from morph.backends import Backend, is_installed
from morph.backends.tables import table
from morph.finders.rewriting.literals import Literals
from morph.finders.scope import TORCH


def literals(name: str | None, module: str) -> Literals | None:
    """Return the literals that a module's comparisons against CUDA literals also accept; None for none.

    Accepting the spelling of a backend that is not chosen later changes nothing: no device has that name.

    Args:
        name: The requested backend; None leaves the choice to morph.
        module: The module's import name. Modules of torch itself are not rewritten, and those of packages
            with native support for a vendor are not rewritten for that vendor.

    Raises:
        UnknownBackendError: If no table describes the backend called ``name``.
        TableError: If a table is malformed.
    """
    package = module.partition(".")[0]
    if package in TORCH:
        return None
    return Literals.of(*(each for each in _candidates(name) if not _speaks(package, each)))


@functools.cache
def _candidates(name: str | None) -> tuple[Backend, ...]:
    """Return the backend called ``name``, else each whose package, or torch, is installed.

    Whether a device exists is known only after its vendor's package is imported, and a program may still
    change its environment before it imports torch: so nothing is imported here.
    """
    if name:
        return (Backend(table.load(name)),)
    installed = (each for each in table.backend_names() if is_installed(table.facts(each)))
    return tuple(Backend(table.load(each)) for each in installed)


def _speaks(package: str, backend: Backend) -> bool:
    return package == backend.vendor or package in backend.table.facts.native
