"""Checks before a program starts that files for its results can be written."""

from __future__ import annotations

import os

from morph.base.errors import MorphError


def ensure_writable(file: str) -> None:
    """Ensure that ``file`` can be written later, without changing it.

    Raises:
        MorphError: If it cannot.
    """
    is_new = not os.path.lexists(file)
    try:
        with open(file, "ab"):
            pass
        if is_new:
            os.unlink(file)
    except OSError as error:
        raise MorphError(f"cannot write {file}: {error.strerror}") from None
