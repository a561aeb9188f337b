"""Sources in C: CUDA's headers are C++ here, so that one with them is compiled as C++, and linked as C."""

from __future__ import annotations

import re

from morph.kernels.extensions.source import LEFT_OUT, Source

PREPROCESSOR = ("-x", "c++", "-Drestrict=__restrict")
COMPILER = ("-fpermissive", "-w", "-fPIC")  # C converts void* to any pointer
_TOOLKIT = re.compile(r'^# \d+ "[^"]*/cuda-[0-9a-f]{20}/include/', re.MULTILINE)


def with_linkage_of_c(text: str) -> str | None:
    """Return a source that was preprocessed as C++ with C's linkage; None if it has no header of CUDA's.

    Args:
        text: The preprocessor's output.
    """
    source = Source(text)
    if not any(_TOOLKIT.search(header) for header in source.headers):
        return None

    def between(match: re.Match[str]) -> str:
        return f'}}\n{source.headers[int(match[1])]}extern "C" {{\n'

    own = re.sub(rf"{LEFT_OUT} (\d+)\n", between, source.text)
    return f'extern "C" {{\n{own}\n}}\n'
