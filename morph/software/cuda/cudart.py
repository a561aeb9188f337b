"""``torch._C._cudart`` and ``torch._C._nvtx``: torch's bindings of CUDA's runtime and of NVTX."""

from __future__ import annotations

import itertools
import threading
from types import ModuleType
from typing import Any

from morph.base.status import Status
from morph.software import runtime_functions


def names() -> dict[str, Any]:
    """Return the modules by their names in ``torch._C``."""
    functions = runtime_functions.functions("cuda")
    functions |= {name: lambda: Status.success for name in ("cudaProfilerStart", "cudaProfilerStop")}
    return {"_cudart": _module("_cudart", functions), "_nvtx": _module("_nvtx", _marks())}


def _module(name: str, values: dict[str, Any]) -> ModuleType:
    module = ModuleType(f"torch._C.{name}")
    vars(module).update(values)
    return module


class _Ranges(threading.local):
    open = 0  # of this thread's ranges


def _marks() -> dict[str, Any]:
    """Return the functions that mark ranges; depths and numbers are as NVTX counts them."""
    numbers, ranges = itertools.count(1), _Ranges()

    def push(message: str) -> int:
        ranges.open += 1
        return ranges.open - 1

    def pop() -> int:
        ranges.open -= 1
        return ranges.open

    return {
        "rangePushA": push,
        "rangePop": pop,
        "rangeStartA": lambda message: next(numbers),
        "rangeEnd": lambda number: None,
        "markA": lambda message: None,
        "deviceRangeStart": lambda message, stream: next(numbers),
        "deviceRangeEnd": lambda number, stream: None,
        "getVersionInt": lambda: 3,
    }
