"""Compiling the C++ of kernels for this machine."""

from __future__ import annotations

import functools
import hashlib
import pathlib
import platform
import shutil
import subprocess

from morph.base import private
from morph.base.errors import MorphError
from morph.base.host import compiler
from morph.kernels import ptx

HEADERS = pathlib.Path(__file__).parent / "headers"
INCLUDES = (f"-I{HEADERS}", f"-I{ptx.HEADERS}")
FLAGS = (
    # -O3 unrolls short inner loops first, and GCC 12 then vectorises some of them wrongly
    *("-O2", "-ftree-vectorize", "-fvect-cost-model=dynamic", "-march=native", "-std=c++20"),
    *("-shared", "-fPIC", "-fvisibility=hidden", "-w", "-pthread"),
    *("-fno-math-errno", "-fno-trapping-math", "-fno-semantic-interposition"),
)


class KernelBuildError(MorphError):
    """The compiler refused the C++ of a kernel."""


@functools.lru_cache(maxsize=128)  # tuning tries options that change nothing here, such as num_warps
def build(source: str, fuse: bool) -> bytes:
    """Return the shared library of a kernel.

    Args:
        source: Its C++.
        fuse: Whether a product and a sum may become one operation, rounded once.

    Raises:
        BuildError: If there is no compiler.
        KernelBuildError: If the compiler refuses it.
        MorphError: If there is no folder to compile in.
    """
    with private.scratch("morph-triton-") as folder:
        file, library = folder / "kernel.cpp", folder / "kernel.so"
        file.write_text(source)
        contraction = f"-ffp-contract={'fast' if fuse else 'off'}"
        words = [*compiler(), *FLAGS, contraction, *INCLUDES, str(file), "-o", str(library)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode:
            reason = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr[:300])
            raise KernelBuildError(f"a Triton kernel does not compile: {reason}; please report its code")
        return library.read_bytes()


@functools.cache
def version() -> str:
    """Return a name of the way kernels are compiled: of these sources, the compiler and the processor."""
    folders = (HEADERS.parent, ptx.HEADERS.parent)
    files = sorted(each for folder in folders for each in folder.rglob("*") if each.suffix in (".py", ".h"))
    parts = [file.read_bytes() for file in files]
    command = compiler()
    binary = pathlib.Path(shutil.which(command[0]) or command[0]).resolve()
    parts += [" ".join([*command, *FLAGS, str(binary)]).encode(), str(binary.stat().st_mtime_ns).encode()]
    return hashlib.sha256(b"\0".join([*parts, _processor().encode()])).hexdigest()


def _processor() -> str:
    """Return what the processor can do; a library built for one may not run on another."""
    file = pathlib.Path("/proc/cpuinfo")
    lines = file.read_text().splitlines() if file.exists() else []
    wanted = ("flags", "Features", "model name", "CPU part")
    found = {line.partition("\t")[0].strip(): line for line in lines if line.startswith(wanted)}
    return "\n".join([platform.machine(), *found.values()])
