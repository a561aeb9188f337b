"""The CUDA names that every backend answers for."""

from __future__ import annotations

import functools

from morph import surfaces
from morph.aliases import table
from morph.aliases.decisions import CUDA_SURFACE


@functools.cache
def cuda_names() -> tuple[str, ...]:
    """Return the names of CUDA's recorded surface and those that a table has a row for, without modules."""
    cuda = surfaces.load(CUDA_SURFACE)
    rows = {name for backend in table.backend_names() for name in table.load(backend).rows}
    members = (name for name in rows if _is_known(name, cuda.modules))
    return tuple(sorted({*(cuda.names - cuda.modules), *members}))


def is_private(name: str) -> bool:
    """Tell whether a name is private to torch, although programs ask for it."""
    return any(part.startswith("_") and not part.endswith("__") for part in name.split("."))


def _is_known(name: str, modules: frozenset[str]) -> bool:
    """Tell whether a row is that of a name, and not of a module."""
    return name not in modules and name != "torch.version"
