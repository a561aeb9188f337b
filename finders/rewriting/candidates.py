"""The backends that a program may get, as known before torch is imported."""

from __future__ import annotations

import functools

from morph.backends import Backend
from morph.finders.rewriting.literals import Literals
from morph.finders.scope import TORCH
from morph.tables import table


def literals(name: str | None, module: str) -> Literals | None:
    """Return what a module's comparisons against CUDA literals are to accept as well; None for nothing.

    Accepting the spelling of a backend that is not chosen in the end changes nothing: no device is called so.

    Args:
        name: The requested backend; None leaves the choice to morph.
        module: The name that the module is found by. Modules of torch itself are not rewritten, nor
            are those of packages that speak a vendor's language natively for that vendor.

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

    Whether a device is there is known only once its vendor's package is imported, and a program may still
    change its environment before it imports torch: nothing is imported here.
    """
    if name:
        return (Backend(table.load(name)),)
    backends = (Backend(table.load(each)) for each in table.backend_names())
    return tuple(each for each in backends if each.installed)


def _speaks(package: str, backend: Backend) -> bool:
    return package == backend.vendor or package in backend.table.facts.native
