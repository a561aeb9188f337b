"""When CUDA's environment variables are read, and what they set on each backend: the documentation's table.

python -m tests.backends.moments    writes aliases/environment.md
"""

import pathlib

from morph.backends.tables import table
from morph.backends.visibility import CUDA_VARIABLE
from morph.base import toml
from tests.platforms import REPOSITORY

DOCUMENT = REPOSITORY / "aliases" / "environment.md"
_HEAD = """# CUDA's environment variables

Each is read once, at the moment of the first column, so that a program may set it after `import torch`,
and for its children. morph sets the vendor's variable whenever a program changes CUDA's, which is before
the vendor reads its own. `=` is a variable that the backend reads itself, `≠` one that has no meaning
there, which a user who sets it is told, and `-` one about which nothing has to be done or said.
`python -m tests.backends.moments` writes this table from `[environment]` of the backends' tables;
`tests/backends/test_late_variables.py` tests each cell.
"""


def moments() -> dict[str, str]:
    """Returns the moment at which CUDA reads a variable, by the variable."""
    written = toml.loads((pathlib.Path(__file__).parent / "moments.toml").read_text(encoding="utf-8"))
    return {name: moment for moment, names in written.items() for name in names}


def cell(variable: str, backend: str) -> str:
    """Returns what a variable sets on a backend: a vendor's variable, or one of the table's signs."""
    backends = table.load(backend)
    if variable == CUDA_VARIABLE:
        return f"`{backends.facts.visible_devices}`" if backends.facts.visible_devices else "="
    row = backends.environment.get(variable)
    if row is None:
        return "=" if backend == "rocm" else "-"
    if row.target:
        return "=" if row.target == variable else f"`{row.target}`"
    return "≠" if row.ignored else "-"


def document() -> str:
    """Returns the document."""
    names = table.backend_names()
    lines = [f"| read at | variable | {' | '.join(names)} |", "|---" * (len(names) + 2) + "|"]
    for variable, moment in moments().items():
        lines.append(f"| {moment} | `{variable}` | {' | '.join(cell(variable, name) for name in names)} |")
    return "\n".join([_HEAD, *lines, ""])


if __name__ == "__main__":
    DOCUMENT.write_text(document(), encoding="utf-8")
