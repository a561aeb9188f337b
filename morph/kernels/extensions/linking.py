"""The link step of ``nvcc``: a program is a library that starts itself; the device needs Python."""

from __future__ import annotations

import json
import os
import pathlib
import re
import sys

from morph.kernels.extensions.options import Options

_START = pathlib.Path(__file__).parent / "native" / "program" / "start.cpp"
_ROOT = pathlib.Path(__file__).parents[3]
# the program's own Python path stays as it is
_CODE = f"""import sys
sys.path[:sys.path[:1] == ['']] = [{str(_ROOT)!r}]
from morph.running.launcher.command import main
del sys.path[0]
main(['--quiet', '--backend=cpu', '--', *sys.argv[1:]])"""
# nothing of the C library's may be called, and no address be filled in, before the start
_BARE = (
    *("-O1", "-fPIC", "-ffreestanding", "-fno-builtin", "-fno-stack-protector", "-fcf-protection=none"),
    "-fno-tree-loop-distribute-patterns",
)
# what is the program's own comes before what the process has of the same name, as for a program
_LINKED = ("-shared", "-Wl,-Bsymbolic,-z,defs,-e,morph_start,-u,morph_program")
_OF_PROGRAMS = re.compile(r"-(?:Wl,)?(?:pie|no-pie|fPIE|fpie|rdynamic|export-dynamic)|-Wl,--export-dynamic")


def start(target: str) -> list[str]:
    """Return the arguments of the compiler that make the object with a program's beginning.

    Args:
        target: The object.
    """
    # as in nvcc's own script: an environment that is built in another may lie at another path later
    named = {"MORPH_PYTHON": sys.executable, "MORPH_CODE": _CODE}
    defined = [f"-D{name}={json.dumps(text)}" for name, text in named.items()]
    return [*_BARE, "-w", *defined, "-x", "c++", "-c", str(_START), "-o", target]


def arguments(options: Options, objects: list[str], home: pathlib.Path, start: str | None) -> list[str]:
    """Return the arguments of the compiler that link a program or a library.

    Args:
        options: nvcc's.
        objects: What was compiled.
        home: The toolkit's folder.
        start: The object with a program's beginning; None links a library.
    """
    own = f"-L{home / 'lib64'}"  # before the folder of a torch that is built for CUDA
    given = [each for each in [*options.compiler, *options.linker] if not _OF_PROGRAMS.fullmatch(each)]
    first = [*_LINKED, start] if start else []
    return [own, *first, *objects, *given, "-lcudart", "-o", options.output or "a.out"]


def described(options: Options, home: pathlib.Path) -> str:
    """Return what nvcc says with ``-v``: by it, CMake finds the toolkit, its libraries, and what links.

    Args:
        options: nvcc's.
        home: The toolkit's folder.
    """
    libraries = f'"-L{home / "lib64"}"'
    lines = [
        f"_HERE_={home / 'bin'}",
        f"TOP={home}",
        f"PATH={home / 'bin'}:{os.environ.get('PATH', '')}",
        f'INCLUDES="-I{home / "include"}"',
        f"LIBRARIES={libraries}",
        f"{home / 'bin' / 'nvcc'} -c -arch compute_80 {' '.join(options.sources)}",
        f"{home / 'bin' / 'nvcc'} {libraries} -lcudart -o {options.output or 'a.out'}",
    ]
    return "\n".join(f"#$ {line}" for line in lines)


def is_program(options: Options) -> bool:
    """Return whether a program is linked, not a library or an object."""
    return not {"-shared", "-r", "-Wl,-r", "-Wl,-shared"} & {*options.compiler, *options.linker}


def archive(options: Options, objects: list[str]) -> list[str]:
    """Return the command that puts objects into a static library."""
    more = [each for each in options.linker if each.endswith(".o")]
    return [os.environ.get("AR", "ar"), "rcs", options.output or "a.a", *objects, *more]
