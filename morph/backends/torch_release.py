"""The oldest release of torch that morph works with."""

from __future__ import annotations

from morph.backends.tables import surfaces

OLDEST = 2, 7


def why_too_old(version: str) -> str | None:
    """Return why morph does not work with a release of torch, or None if it does.

    Args:
        version: The release, ``"2.6.0+cpu"``.
    """
    numbers = surfaces.release(version)
    if not numbers or numbers >= OLDEST:  # a build without numbers may be newer than all releases
        return None
    return f"torch {version} is too old: morph needs torch {'.'.join(map(str, OLDEST))} or newer"
