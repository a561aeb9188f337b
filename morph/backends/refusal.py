"""The error for a part of a CUDA name that the active backend lacks: a field, a parameter's value."""

from __future__ import annotations

from morph.backends import active
from morph.errors import MissingNameError


def lacks(name: str, reason: str) -> MissingNameError:
    """Return the error that says that the active backend lacks ``name``, and why."""
    backend = active()
    return MissingNameError(name, backend.name if backend else "none", reason)
