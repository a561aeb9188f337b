"""Compiling C++ sources against the installed torch.

The compiler is called directly: ``torch.utils.cpp_extension`` would import a good part of torch (and need
ninja) in every process that only wants to load what was built long ago.
"""

from __future__ import annotations

import errno
import os
import pathlib
import shlex
import shutil
from collections.abc import Callable, Sequence

import torch

from morph.errors import MorphError
from morph.native.commands import CommandError, run_together
from morph.native.target import PYBIND11_ABI, Target

FLAGS = ("-std=c++20", "-O2", "-fPIC", "-fvisibility=hidden", "-w")
LIBRARIES = ("c10", "torch_cpu", "torch_python")


class BuildError(MorphError):
    """A C++ part could not be built: no compiler, no headers, no place, or a compiler that refuses."""


def compile_library(
    name: str,
    sources: list[pathlib.Path],
    library: pathlib.Path,
    folder: pathlib.Path,
    progress: Callable[[str], None] | None,
) -> pathlib.Path:
    """Compile a library in ``folder``, and return its path there.

    Args:
        name: The module's name.
        sources: The C++ files.
        library: Where it will be kept; a refusal of the compiler is remembered beside it.
        folder: An empty folder.
        progress: Called with one line before the compiler is.

    Raises:
        BuildError: If there is no compiler, or it fails; or if the same compiler has refused before.
        OSError: If there is no place left to write to.
        KeyboardInterrupt: If the user ends the build; the compilers have ended then.
    """
    command, log = compiler(), library.with_suffix(".log")
    if has_refused(command, log):
        earlier = f"an earlier build of the C++ part {name!r} failed, see {log}"
        raise BuildError(f"{earlier}; delete it to try again")
    if progress is not None:
        progress(f"building {name} for torch {torch.__version__}, once (minutes on few cores)")
    try:
        _compile(command, name, sources, folder / library.name)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"while the C++ part {name!r} was built; the next start builds it") from None
    except CommandError as error:
        if error.is_about_space:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from None
        if not error.is_transient:
            log.write_text(f"{identity(command)}\n{shlex.join(error.command)}\n{error.output}")
        problem = f"the C++ part {name!r} did not build: {_remedied(error)}"
        raise BuildError(problem if error.is_transient else f"{problem}; see {log}") from None
    return folder / library.name


def compiler() -> list[str]:
    """Return the command of the C++ compiler, and its own options: ``$CXX``, else c++, g++ or clang++.

    Raises:
        BuildError: If there is none, or a quotation in ``$CXX`` does not end.
    """
    try:
        named = shlex.split(os.environ.get("CXX", ""))
    except ValueError as error:
        raise BuildError(f"CXX is no command: {error}: {os.environ['CXX']}") from None
    for command in [named] if named else [["c++"], ["g++"], ["clang++"]]:
        if shutil.which(command[0]):
            return command
    missing = f"{named[0]} (CXX)" if named else "c++, g++, clang++"
    raise BuildError(f"no C++ compiler: {missing} not found; install g++")


def options(name: str, target: Target, includes: Sequence[pathlib.Path]) -> list[str]:
    """Return the options that a compiler gets for a source file of the module ``name``."""
    definitions = {"_GLIBCXX_USE_CXX11_ABI": int(target.cxx11_abi), "TORCH_EXTENSION_NAME": name}
    if target.pybind11_abi:
        whole = dict.fromkeys(PYBIND11_ABI, '""') | {PYBIND11_ABI[0]: f'"{target.pybind11_abi}"'}
        definitions |= {f"PYBIND11_{part}": value for part, value in whole.items()}
    defined = [f"-D{key}={value}" for key, value in definitions.items()]
    return [*FLAGS, *defined, *(f"-I{folder}" for folder in includes)]


def torch_includes(torch_include: pathlib.Path) -> list[pathlib.Path]:
    """Return the folders that torch's headers are found in, of ``torch/include``."""
    return [torch_include, torch_include / "torch" / "csrc" / "api" / "include"]


def _compile(command: list[str], name: str, sources: list[pathlib.Path], library: pathlib.Path) -> None:
    words = options(name, Target.installed(), _include_folders())
    objects = [library.with_name(source.stem + ".o") for source in sources]
    steps = [[*command, *words, "-c", str(s), "-o", str(o)] for s, o in zip(sources, objects, strict=True)]
    run_together(steps, library.parent)
    links = ["-s", f"-L{_torch_folder() / 'lib'}", *(f"-l{each}" for each in LIBRARIES)]
    run_together([[*command, "-shared", *map(str, objects), *links, "-o", str(library)]], library.parent)


def identity(command: list[str]) -> str:
    """Return the identity of a compiler, which differs for another compiler and another release."""
    path = pathlib.Path(shutil.which(command[0]) or command[0]).resolve()
    return f"{shlex.join(command)} {path} {path.stat().st_mtime_ns}"


def has_refused(command: list[str], log: pathlib.Path) -> bool:
    """Return whether a log says that this compiler has refused already."""
    return log.exists() and log.read_text().partition("\n")[0] == identity(command)


def _remedied(error: CommandError) -> str:
    if "Python.h" in error.summary:
        return f"{error.summary} (install Python's headers: python3-dev)"
    return error.summary


def _include_folders() -> list[pathlib.Path]:
    import sysconfig  # takes 3 ms, which each activation would pay

    python = {sysconfig.get_path("include"), sysconfig.get_path("platinclude")}
    return [*torch_includes(_torch_folder() / "include"), *map(pathlib.Path, sorted(python))]


def _torch_folder() -> pathlib.Path:
    return pathlib.Path(torch.__path__[0])
