"""Inline assembly in PTX as C++: what its instructions do to a thread's registers, to memory, and in a warp.

PTX is NVIDIA's documented instruction set: what a text means here is what the PTX ISA says of it. This
room takes what a person wrote between the quotes of an ``asm``, never what a compiler of NVIDIA's wrote,
whose licence forbids it.
"""

from __future__ import annotations

import pathlib
from collections.abc import Mapping

from morph.kernels.ptx import (  # noqa: F401  each registers its instructions
    arithmetic,
    bits,
    carries,
    comparisons,
    conversions,
    matrices,
    memory,
    video,
    warps,
)
from morph.kernels.ptx.errors import UnsupportedInstructionError
from morph.kernels.ptx.translation import Translation

HEADERS = pathlib.Path(__file__).parent / "headers"

__all__ = ["HEADERS", "UnsupportedInstructionError", "translate"]


def translate(text: str, operands: Mapping[str, tuple[str, int]], *, in_block: bool = False) -> list[str]:
    """Return the C++ statements of a text of PTX; they need ``ptx.h`` of ``HEADERS``.

    Args:
        text: Instructions, declarations of registers and braces.
        operands: The names of the registers around the text (``$0``, ``%0``), each with the C++ variable
            that holds its bits, of type ``uint32_t`` and its like, and its width in bits.
        in_block: Whether the thread is one of a block, with shared memory, a warp and barriers; then the
            statements need the functions of ``morph/assembly.h`` of CUDA C++ too.

    Raises:
        UnsupportedInstructionError: If it holds what is not translated; nothing is translated then.
    """
    return Translation(operands, in_block).lines(text)
