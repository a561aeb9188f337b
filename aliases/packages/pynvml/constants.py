"""NVML's constants, as data."""

from __future__ import annotations

import json
import pathlib
from ctypes import c_uint, c_ulonglong
from typing import Any

_INTERFACE = pathlib.Path(__file__).parent / "interface"


def read(name: str) -> dict[str, Any]:
    """Return the content of an interface file: names with their definitions."""
    content: dict[str, Any] = json.loads((_INTERFACE / f"{name}.json").read_text(encoding="utf-8"))
    return content


def _value(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


CONSTANTS: dict[str, Any] = {name: _value(value) for name, value in read("constants").items()}
"""The constants by name; a few are tuples, since nvidia-ml-py has a comma after their value."""

NVML_VALUE_NOT_AVAILABLE_ulonglong = c_ulonglong(-1)
NVML_VALUE_NOT_AVAILABLE_uint = c_uint(-1)
