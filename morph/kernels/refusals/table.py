"""The table of the packages that are refused, and of what to use or install instead."""

from __future__ import annotations

import functools
import pathlib
from collections.abc import Mapping
from typing import Any

from morph.base import toml


@functools.cache
def packages() -> Mapping[str, Any]:
    """Return what the table says of each package."""
    return toml.loads(pathlib.Path(__file__).with_name("packages.toml").read_text(encoding="utf-8"))
