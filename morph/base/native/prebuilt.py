"""The libraries that a wheel brings, so that no compiler is needed.

``python -m morph.running.wheels`` writes them, and the record beside them: what each was built from and for.
"""

from __future__ import annotations

import json
import pathlib
from typing import Any

FOLDER = pathlib.Path(__file__).parent / "libraries"
RECORD = "record.json"


def find(place: pathlib.Path) -> pathlib.Path | None:
    """Return a library of the installed wheel.

    Args:
        place: Where it lies in the folder of libraries; another place for each torch that one is built for.

    Returns:
        The path, or None if the wheel has none there.
    """
    built, path = _record().get(str(place)), FOLDER / place
    is_whole = built is not None and path.is_file() and path.stat().st_size == built["size"]
    return path if is_whole else None


def _record() -> dict[str, dict[str, Any]]:
    try:
        record: dict[str, dict[str, Any]] = json.loads((FOLDER / RECORD).read_text())
    except FileNotFoundError:
        return {}
    return record
