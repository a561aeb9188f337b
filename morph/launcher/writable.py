"""Files that are written when a program has ended: whether they can be, before it begins."""

from __future__ import annotations

import os

from morph.errors import MorphError


def ensure_writable(file: str) -> None:
    """See to it that ``file`` can be written later; what is in it stays.

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
