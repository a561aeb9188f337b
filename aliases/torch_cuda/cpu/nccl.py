"""What NCCL says of itself; process groups that ask for it are gloo's here."""

from __future__ import annotations

# Programs choose by version: from 2.10 on they average and reduce bfloat16, both of which gloo does
VERSION = (2, 10, 3)


def version() -> tuple[int, int, int]:
    """Return ``VERSION``."""
    return VERSION
