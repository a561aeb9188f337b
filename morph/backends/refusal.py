"""The error for a part of a CUDA name that the active backend lacks: a field, or a parameter's value."""

from __future__ import annotations

from morph.backends import active
from morph.base.errors import MissingNameError


def lacks(name: str, reason: str) -> MissingNameError:
    """Return the error for a ``name`` that the active backend lacks, with the reason."""
    backend = active()
    return MissingNameError(name, backend.name if backend else "none", reason)
