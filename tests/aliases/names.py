"""Names of CUDA and of the vendors: whether they exist, and where a backend would provide one."""

import warnings
from typing import Any

from morph.backends import resolve
from morph.backends.tables import surfaces, table
from morph.backends.tables.table import Status, Table

ROOT = "torch.cuda"
CUDA = surfaces.load("torch_cuda-2.13.0")
TABLES = [table.load(name) for name in table.backend_names()]


def place(backend: Table, name: str) -> str:
    """Returns the vendor's dotted name for a CUDA name that it spells the same."""
    return backend.facts.module + name.removeprefix(ROOT)


def home(backend: Table, name: str) -> str:
    """Returns the vendor's dotted name for a CUDA name, also for a member of a class that it renames."""
    owner, _, member = name.rpartition(".")
    row = backend.rows.get(owner)
    return f"{row.target}.{member}" if row and row.status is Status.RENAMED else place(backend, name)


def exists(backend: Table, target: str) -> bool:
    """Returns whether a target exists: in the recorded surface where that covers it, else on this machine."""
    owner, _, member = target.rpartition(".")
    if member in ("__init__", "__new__"):
        return exists(backend, owner)
    if backend.facts.surface and _is_recorded(backend, target):
        return surfaces.load(backend.facts.surface).has(target)
    return resolved(target) is not None


def resolved(name: str) -> Any:
    """Returns the object that a dotted name refers to, None if there is none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # accessing the storages warns
            return resolve(name)
    except AttributeError:
        return None


def _is_recorded(backend: Table, target: str) -> bool:
    """Returns whether the recorded surface covers a target: the vendor's module or one recorded with it."""
    recorded = surfaces.load(backend.facts.surface).modules | {backend.facts.module}
    return target in recorded or any(target.startswith(f"{module}.") for module in recorded)
