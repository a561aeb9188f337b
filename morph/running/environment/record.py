"""The list of the files of morph's distribution, by which pip uninstalls them."""

from __future__ import annotations

import base64
import hashlib
import pathlib
from collections.abc import Mapping

from morph.running.environment.startup_files import NAMES, content_of


def listing(record: pathlib.Path, owned: Mapping[str, str]) -> str:
    """Return the content of ``record`` with ``owned`` as the only listed start-up files.

    Args:
        record: The RECORD of the distribution.
        owned: The contents of the files to list, by name.
    """
    lines = (content_of(record) or "").splitlines(keepends=True)
    ending = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    kept = [line for line in lines if _name(line) not in NAMES]
    return "".join([*kept, *(f"{_row(name, content)}{ending}" for name, content in owned.items())])


def listed(record: pathlib.Path) -> set[str]:
    """Return the names of the start-up files that ``record`` lists."""
    return {_name(line) for line in (content_of(record) or "").splitlines()}.intersection(NAMES)


def _name(line: str) -> str:
    return line.partition(",")[0]


def _row(name: str, content: str) -> str:
    data = content.encode()
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}"
