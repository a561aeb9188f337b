"""The compiler, and its options for C++ against the installed torch.

The compiler is called directly: ``torch.utils.cpp_extension`` would import a good part of torch (and need
ninja) in every process that only wants to load what was built long ago.
"""

from __future__ import annotations

import pathlib
import shlex
import shutil
from collections.abc import Sequence

import torch

from morph.base.native.commands import CommandError
from morph.base.native.target import PYBIND11_ABI, Target

# torch is built with NDEBUG, without which classes in its headers (at::RecordFunction) have more members;
# without AT_PER_OPERATOR_HEADERS its headers include those of all operators
DEFINITIONS = ("-DNDEBUG", "-DAT_PER_OPERATOR_HEADERS")
# GCC collects no garbage below a gigabyte, and does not read the 40,000 lines of x86intrin.h, of which
# c10/util/ApproximateClock.h uses one function: each a tenth of the time that it takes
SOONER = ("--param", "ggc-min-heapsize=1000000", "-D_X86INTRIN_H_INCLUDED", "-D__rdtsc=__builtin_ia32_rdtsc")
FLAGS = ("-std=c++20", "-fPIC", "-fvisibility=hidden", "-w", *DEFINITIONS, *SOONER)
LIBRARIES = ("c10", "torch_cpu", "torch_python")


def options(name: str, target: Target, includes: Sequence[pathlib.Path], level: str) -> list[str]:
    """Return the options that a compiler gets for a source file of a module.

    Args:
        name: The module's name.
        target: What it is compiled for.
        includes: The folders that headers are found in.
        level: The compiler's options of optimization.
    """
    definitions = {"_GLIBCXX_USE_CXX11_ABI": int(target.cxx11_abi), "TORCH_EXTENSION_NAME": name}
    if target.pybind11_abi:
        whole = dict.fromkeys(PYBIND11_ABI, '""') | {PYBIND11_ABI[0]: f'"{target.pybind11_abi}"'}
        definitions |= {f"PYBIND11_{part}": value for part, value in whole.items()}
    defined = [f"-D{key}={value}" for key, value in definitions.items()]
    return [*FLAGS, *shlex.split(level), *defined, *(f"-I{folder}" for folder in includes)]


def torch_includes(torch_include: pathlib.Path) -> list[pathlib.Path]:
    """Return the folders that torch's headers are found in, of ``torch/include``."""
    return [torch_include, torch_include / "torch" / "csrc" / "api" / "include"]


def links() -> tuple[str, ...]:
    """Return the linker's options for what uses torch's libraries."""
    return ("-s", f"-L{_torch_folder() / 'lib'}", *(f"-l{each}" for each in LIBRARIES))


def identity(command: list[str]) -> str:
    """Return the identity of a compiler, which differs for another compiler and another release."""
    path = pathlib.Path(shutil.which(command[0]) or command[0]).resolve()
    return f"{shlex.join(command)} {path} {path.stat().st_mtime_ns}"


def has_refused(command: list[str], log: pathlib.Path) -> bool:
    """Return whether a log says that this compiler has refused already."""
    return log.exists() and log.read_text().partition("\n")[0] == identity(command)


def remedied(error: CommandError) -> str:
    """Return what went wrong, with what to install where that is known."""
    if "Python.h" in error.summary:
        return f"{error.summary} (install Python's headers: python3-dev)"
    return error.summary


def include_folders() -> list[pathlib.Path]:
    """Return the folders of the headers of the installed torch and Python."""
    import sysconfig  # takes 3 ms, which each activation would pay

    python = {sysconfig.get_path("include"), sysconfig.get_path("platinclude")}
    return [*torch_includes(_torch_folder() / "include"), *map(pathlib.Path, sorted(python))]


def _torch_folder() -> pathlib.Path:
    return pathlib.Path(torch.__path__[0])
