"""The headers of CUDA's toolkit, by ``headers.toml``: which are served, and which are refused and why."""

from __future__ import annotations

import functools
import pathlib
from collections.abc import Mapping
from typing import Any

from morph.backends.tables.library import LIBRARIES
from morph.base import toml

_TABLE = pathlib.Path(__file__).parent / "headers.toml"
NUMBERS = LIBRARIES / "numbers" / "cuda.toml"
_TAGS = {"cudaError_t": "cudaError", "CUresult": "cudaError_enum"}  # programs write `enum cudaError`, too
_ARCHITECTURES = (
    *(35, 37, 50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 88, 89, 90),
    *(100, 101, 103, 110, 120, 121),
)
_NO_TYPES = ("cuda_h", "cuda_runtime_h", "words")


def served() -> Mapping[str, list[str]]:
    """Return the headers that are served, by the one of morph's that each of them includes."""
    names: Mapping[str, list[str]] = _tables()["served"]
    return names


def libraries() -> Mapping[str, str]:
    """Return the refused headers of NVIDIA's libraries, with what each is and what to use instead."""
    reasons: Mapping[str, str] = _tables()["libraries"]
    return reasons


def features() -> Mapping[str, str]:
    """Return the other headers that are refused, as ``libraries`` does; a name ending in / is a folder."""
    reasons: Mapping[str, str] = _tables()["features"]
    return reasons


def refused(name: str) -> str | None:
    """Return the refused header, or folder of headers, that an ``#include`` names; None if it is served."""
    known = sorted({**libraries(), **features()}, key=lambda each: not each.endswith("/"))
    for each in known:
        if name == each or (each.endswith("/") and name.startswith(each) and not _is_served(name)):
            return each
    return None


def enumerators() -> str:
    """Return a header with CUDA's enumerations, which the served libraries answer by too."""
    kinds = toml.loads(NUMBERS.read_text(encoding="utf-8"))
    return "#pragma once\n" + "".join(
        f"typedef enum {_tag(kind)} {{\n{_listed(numbers)}}} {kind};\n"
        for kind, numbers in kinds.items()
        if kind not in _NO_TYPES
    )


def architectures() -> str:
    """Return a header with what ``<nv/target>`` knows of each of NVIDIA's architectures: 1 or 0."""
    return "#pragma once\n" + "".join(
        f"#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ {comparison} {each}0\n"
        f"#define NV_{name}_SM_{each} 1\n#else\n#define NV_{name}_SM_{each} 0\n#endif\n"
        for each in _ARCHITECTURES
        for name, comparison in (("PROVIDES", ">="), ("IS_EXACTLY", "=="))
    )


def _tag(kind: str) -> str:
    return _TAGS.get(kind, f"{kind}_enum" if kind.startswith("CU") else kind)


def _listed(numbers: Mapping[str, int]) -> str:
    return "".join(f"  {name} = {number},\n" for name, number in numbers.items())


def _is_served(name: str) -> bool:
    return any(name in names for names in served().values())


@functools.cache
def _tables() -> Mapping[str, Any]:
    return toml.loads(_TABLE.read_text(encoding="utf-8"))
