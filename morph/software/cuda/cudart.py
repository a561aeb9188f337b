"""``torch._C._cudart`` and ``torch._C._nvtx``: torch's bindings of CUDA's runtime and of NVTX."""

from __future__ import annotations

import itertools
from types import ModuleType
from typing import Any

from morph.base.status import Status
from morph.software import runtime_functions

NOT_FOLLOWED = -2  # the depth of ranges that no profiler of NVIDIA's follows: NVTX_NO_PUSH_POP_TRACKING


def names() -> dict[str, Any]:
    """Return the modules by their names in ``torch._C``."""
    functions = runtime_functions.functions("cuda")
    functions |= {name: lambda: Status.success for name in ("cudaProfilerStart", "cudaProfilerStop")}
    return {"_cudart": _module("_cudart", functions), "_nvtx": _module("_nvtx", _marks())}


def _require(function: str, kind: Any, given: Any) -> None:
    if not isinstance(given, kind):
        raise TypeError(f"{function}(): incompatible function arguments. Invoked with: {given!r}")


def _module(name: str, values: dict[str, Any]) -> ModuleType:
    module = ModuleType(f"torch._C.{name}")
    vars(module).update(values)
    return module


def _marks() -> dict[str, Any]:
    """Return the functions that mark ranges, which no tool follows here."""
    numbers = itertools.count(1)

    def push(message: str) -> int:
        _require("rangePushA", str, message)
        return NOT_FOLLOWED

    def start(message: str) -> int:
        _require("rangeStartA", str, message)
        return next(numbers)

    return {
        "rangePushA": push,
        "rangePop": lambda: NOT_FOLLOWED,
        "rangeStartA": start,
        "rangeEnd": lambda number: _require("rangeEnd", int, number),
        "markA": lambda message: _require("markA", str, message),
        "deviceRangeStart": lambda message, stream: next(numbers),
        "deviceRangeEnd": lambda number, stream: None,
        "getVersionInt": lambda: 3,
    }
