"""Texts of PTX in one library of C++, and what each computes for the registers that it is given."""

import ctypes
import pathlib
import subprocess
from collections.abc import Iterable

from morph.base.host import compiler
from morph.kernels import ptx

FLAGS = (
    "-O2",
    "-std=c++20",
    "-march=native",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-shared",
    "-fPIC",
    "-w",
)


class Library:
    """Compiled texts. ``$0`` is the result, ``$1`` and the next are the operands, all of 64 bits.

    Args:
        texts: The texts.
        folder: Where they are compiled.
    """

    def __init__(self, texts: Iterable[str], folder: pathlib.Path) -> None:
        self._numbers = {text: number for number, text in enumerate(dict.fromkeys(texts))}
        source, library = folder / "texts.cpp", folder / "texts.so"
        source.write_text(
            '#include "ptx.h"\n' + "".join(map(_function, self._numbers.values(), self._numbers))
        )
        command = [*compiler(), *FLAGS, f"-I{ptx.HEADERS}", str(source), "-o", str(library)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[:3000]
        self._library = ctypes.CDLL(str(library))

    def run(self, text: str, *operands: int) -> int:
        """Return the bits of a text's result."""
        registers = (ctypes.c_uint64 * 5)(0, *(operand & (1 << 64) - 1 for operand in operands))
        getattr(self._library, f"text_{self._numbers[text]}")(registers)
        return registers[0]


def _function(number: int, text: str) -> str:
    operands = {f"${place}": (f"registers[{place}]", 64) for place in range(5)}
    lines = "\n  ".join(ptx.translate(text, operands))
    return f'extern "C" void text_{number}(uint64_t* registers) {{\n  {lines}\n}}\n'
