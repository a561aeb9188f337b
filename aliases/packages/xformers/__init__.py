"""xformers, served by morph: memory-efficient attention with its biases, and other operators."""

from __future__ import annotations

__version__ = "0.0.35"

_has_cpp_library = True
_is_opensource = True


def _is_triton_available() -> bool:
    """Return whether operators are computed by Triton: False."""
    return False
