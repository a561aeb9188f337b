"""How much of public projects' CUDA usage works: CUDA's names, weighted by the files that use them."""

import pytest

from morph.backends.tables import interfaces
from morph.backends.tables.table import Status, Table
from tests.aliases.names import CUDA, ROOT, TABLES, exists, home, resolved

USAGE = {name: files for name, files in interfaces.usage().items() if interfaces.of(name).name == ROOT}
LEAST_PERCENTAGES = {"npu": 99.5, "mlu": 99.5, "musa": 99.5, "xpu": 99.0, "rocm": 100.0, "cpu": 99.0}
WORKING = (Status.SAME, Status.RENAMED, Status.ADAPTED, Status.EMULATED)


@pytest.mark.parametrize("backend", TABLES, ids=lambda backend: backend.facts.name)
def test_nearly_all_that_projects_use_works(backend: Table) -> None:
    files = {name: count for name, count in USAGE.items() if resolved(name) is not None or CUDA.has(name)}
    broken = {name: count for name, count in files.items() if not _works(backend, name)}
    percentage = 100 - 100 * sum(broken.values()) / sum(files.values())
    assert percentage >= LEAST_PERCENTAGES.get(backend.facts.name, 0.0), broken


def test_few_of_the_names_are_none_of_this_torchs() -> None:
    unknown = [name for name in USAGE if resolved(name) is None and not CUDA.has(name)]
    assert sum(USAGE[name] for name in unknown) < sum(USAGE.values()) / 500, unknown


def _works(backend: Table, name: str) -> bool:
    row = backend.row(name)
    if row is not None:
        return row.status in WORKING
    if not name.startswith(f"{ROOT}.") or name in CUDA.modules or _is_private(name):
        return True  # served as torch's own
    return _works_in(backend, name.rpartition(".")[0]) or exists(backend, home(backend, name))


def _works_in(backend: Table, owner: str) -> bool:
    """Returns whether morph implements the class or function ``owner``, with all members that CUDA's has."""
    row = backend.rows.get(owner)
    return row is not None and row.status in (Status.ADAPTED, Status.EMULATED)


def _is_private(name: str) -> bool:
    return any(part.startswith("_") for part in name.split("."))
