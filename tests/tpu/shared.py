"""Which tests of the seam and of the device do not hold on torch_tpu; the others run there as well."""

import pathlib
import re
from collections.abc import Iterator

import pytest

from morph.base import toml

FOLDERS = ("seam", "device")
_FILE = pathlib.Path(__file__).with_name("gaps.toml")
_TABLES: dict[str, dict[str, list[str]]] = toml.loads(_FILE.read_text(encoding="utf-8"))
REASONS = {
    kind: {name: reason for reason, names in table.items() for name in names}
    for kind, table in _TABLES.items()
}


def marks(item: pytest.Item) -> Iterator[pytest.MarkDecorator]:
    """Returns what a test on torch_tpu is marked with: that it fails, or is left out, and why."""
    where = f"{item.path.parent.name}/{item.path.name}::{item.name}"
    whole = re.sub(r"tpu-|\[tpu\]", "", where, count=1)
    for name in (whole, whole.partition("[")[0], whole.partition("::")[0]):
        if name in REASONS["fails"]:
            yield pytest.mark.xfail(reason=REASONS["fails"][name], strict=True)
        if name in REASONS["left out"]:
            yield pytest.mark.skip(reason=REASONS["left out"][name])
