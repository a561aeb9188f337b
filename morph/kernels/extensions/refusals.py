"""The features of CUDA sources that the software device does not run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from morph.kernels.extensions import assembly, launches
from morph.kernels.extensions.source import Source

NESTED = "dynamic parallelism"
_LIBRARIES = {
    "cublas": "cuBLAS",
    "cudnn": "cuDNN",
    "cufft": "cuFFT",
    "curand": "cuRAND",
    "cusolver": "cuSOLVER",
    "cusparse": "cuSPARSE",
}
FEATURES: Mapping[str, str] = {
    "inline PTX": "write it in C++",
    "texture references": "they were removed in CUDA 12; use a texture object",
    "mipmapped arrays": "use an array for each level",
    NESTED: "launch both kernels from the host",
    "at::cuda::blas": "use at::mm and its like, or cuBLAS",
}
"""By its name, what to do instead."""
_BEFORE_A_CALL = ("return", "else", "do", "throw", "case")
_NUMBER = r"(?:(?:un)?signed\s+)?(?:u?(?:char|short|int)|unsigned|float)[1-4]?"
_PATTERNS = {
    "texture references": (
        rf"\btexture\s*<\s*(?:{_NUMBER}\s*>\s*\w+\s*;|[\w\s:]+,\s*(?:[1-3]|cudaTextureType\w+)\s*[,>])"
        r"|\bcuda(?:Bind|Unbind)Texture\w*\s*\(|\btextureReference\b"
    ),
    "mipmapped arrays": r"\bcuda(?:Malloc|Free|Get)Mipmapped\w+\s*\(",
    "at::cuda::blas": r"\bcuda::blas::(?:gem|bgem|int8|scaled|v?dot|trsm|ge[lt]|geqrf)\w*",
}


class Refused(NamedTuple):
    """What is refused in a source.

    Attributes:
        start: Where it begins in the text.
        end: Where it ends.
        name: Its name in ``FEATURES``.
        detail: What of it, to be read after the name, or empty.
    """

    start: int
    end: int
    name: str
    detail: str = ""


def features(source: Source, *, is_preprocessed: bool = True) -> Iterator[Refused]:
    """Yield what is refused in a source wherever it stands; of inline PTX what is not translated.

    Args:
        source: A source.
        is_preprocessed: Whether it is compiled, and inline PTX may be refused later, where it is carried out.
    """
    for name, pattern in _PATTERNS.items():
        for match in source.find(pattern):
            if source.is_the_users(match.start()):
                yield Refused(*match.span(), name)
    for match in assembly.places(source):
        reason = assembly.why_not(source, match)
        if reason and not (
            assembly.is_refused_late(source, match) if is_preprocessed else reason == assembly.OF_MACROS
        ):
            yield Refused(*match.span(), "inline PTX", f" ({reason})")


def nested_launches(source: Source) -> Iterator[Refused]:
    """Yield the launches in the body of a function for the device."""
    for match in launches.openings(source):
        if _is_in_kernel(source, match.start()):
            yield Refused(*match.span(), NESTED)


def library_functions(source: Source) -> Iterator[tuple[int, str, str]]:
    """Yield the calls of functions of NVIDIA's libraries that neither morph nor the program declares.

    Args:
        source: A preprocessed source, whose headers are morph's.

    Yields:
        The place, the function, and the library.
    """
    calls: dict[str, list[re.Match[str]]] = {}
    declared = set()
    for match in source.find(rf"(?<![\w.:])({'|'.join(_LIBRARIES)})(?=[A-Z_])\w+"):
        calls.setdefault(match[0], []).append(match)
        if not _is_call(source, match):
            declared.add(match[0])
    for name, places in calls.items():
        if name not in declared and not any(re.search(rf"\b{name}\b", header) for header in source.headers):
            yield places[0].start(), name, _LIBRARIES[places[0][1]]


def _is_call(source: Source, name: re.Match[str]) -> bool:
    """Return whether a name is called where it stands; where a function is declared, a type is before it."""
    if not source.code[name.end() :][:80].lstrip().startswith("("):
        return False
    before = re.search(r"(?:\w+|>)(?=[*&\s]*$)|$", source.head(name.start(), 80))
    return before is None or before[0] in ("", *_BEFORE_A_CALL) or "&&" in before.string[before.end() :]


def _is_in_kernel(source: Source, place: int) -> bool:
    brace = source.enclosing(place)
    while brace >= 0:
        head = re.split(r"[;{}]", source.head(brace))[-1]
        if "__global__" in head or ("__device__" in head and "__host__" not in head):
            return True
        brace = source.enclosing(brace)
    return False
