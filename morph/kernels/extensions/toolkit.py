"""A CUDA toolkit of morph's own: a folder as ``CUDA_HOME`` names one, for torch's builds and all others."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import shlex
import sys
import sysconfig
from collections.abc import Callable

import torch

from morph.kernels.extensions import headers
from morph.native import BuildError, cache, compiling
from morph.native.commands import CommandError, run_together
from morph.native.target import Target

HERE = pathlib.Path(__file__).parent
INCLUDE = HERE / "include"
LIBRARY = "libcudart.so"
_ALIASES = (  # which programs link: all is in one library
    *("libc10_cuda.so", "libtorch_cuda.so", "libcuda.so", "libcublas.so", "libcurand.so", "libcufft.so"),
)
_FLAGS = ("-std=c++20", "-O2", "-fPIC", "-fopenmp", "-w", f"-I{INCLUDE}")
_LIBRARIES = ("c10", "torch_cpu", "torch_python")


@dataclasses.dataclass(frozen=True)
class Toolkit:
    """A toolkit for the installed torch.

    Attributes:
        home: Its folder.
    """

    home: pathlib.Path

    @property
    def include(self) -> pathlib.Path:
        """The folder of its headers."""
        return self.home / "include"

    @property
    def libraries(self) -> pathlib.Path:
        """The folder of its libraries."""
        return self.home / "lib64"

    def build_libraries(self, progress: Callable[[str], None]) -> None:
        """Build the runtime library unless it is there; of several processes one does.

        Args:
            progress: Called with one line before a build, and before waiting for one.

        Raises:
            BuildError: If it cannot be built.
        """
        library = self.libraries / LIBRARY
        if cache.is_sound(library):
            return
        with cache.locked(library, progress):
            if not cache.is_sound(library):
                progress("building the runtime of CUDA extensions, once (a minute on few cores)")
                with cache.scratch(library) as folder:
                    cache.keep(_build(folder, library), library)


def assemble(refusal: str = "") -> Toolkit:
    """Return the toolkit for the installed torch, its headers and its compiler in place.

    Args:
        refusal: Why its compiler compiles nothing; then there are neither headers nor libraries.

    Raises:
        BuildError: If there is no folder to keep it in.
    """
    # it leads to this folder's files, so another copy of the same files has a toolkit of its own
    identity = [*_FLAGS, sys.executable, str(torch.version.cuda), str(HERE), refusal]
    name = Target.installed().library_name("cuda", _files(), identity).partition(".")[0]
    problems = []
    for folder in cache.folders():
        toolkit = Toolkit(folder / name)
        try:
            cache.prepare(toolkit.home)
            _write(toolkit, refusal)
        except OSError as error:
            problems.append(f"{folder}: {error.strerror or error}")
            continue
        return toolkit
    raise BuildError(f"no folder to keep the toolkit for CUDA extensions in: {'; '.join(problems)}")


def _files() -> list[pathlib.Path]:
    kinds = (".py", ".toml", ".h", ".cuh", ".cpp", ".hpp", "")
    return sorted(path for path in HERE.rglob("*") if path.is_file() and path.suffix in kinds)


def _write(toolkit: Toolkit, refusal: str) -> None:
    done = toolkit.home / "complete"
    if not done.exists():
        with cache.locked(toolkit.home, None):
            if not done.exists():
                _fill(toolkit, refusal)
                done.touch()


def _fill(toolkit: Toolkit, refusal: str) -> None:
    for folder in ("bin", "include", "lib64"):
        (toolkit.home / folder).mkdir(mode=0o700, exist_ok=True)
    _write_version(toolkit)
    compiler = toolkit.home / "bin" / "nvcc"
    compiler.write_text(_compiler(toolkit.home, refusal))
    compiler.chmod(0o700)
    if refusal:
        return
    _write_headers(toolkit.include)
    for alias in _ALIASES:
        _link(toolkit.libraries / alias, LIBRARY)


def _write_headers(folder: pathlib.Path) -> None:
    for path in INCLUDE.rglob("*"):
        if path.is_file():
            target = folder / path.relative_to(INCLUDE)
            target.parent.mkdir(parents=True, exist_ok=True)
            _link(target, path)
    for own, names in headers.served().items():
        for name in names:
            _put(folder / name, f'#pragma once\n#include "{own}"\n')
    refused = {**headers.libraries(), **headers.features()}
    for name, reason in refused.items():
        if not name.endswith("/"):
            _put(folder / name, f'#error "morph: {name}: the software device has no {reason}"\n')


def _write_version(toolkit: Toolkit) -> None:
    """Say that this is the release of CUDA that torch says it was built with: torch compares the two."""
    version = torch.version.cuda or "12.8"
    major, minor = version.split(".")[:2]
    (toolkit.home / "version.txt").write_text(version)
    number = int(major) * 1000 + int(minor) * 10
    names = {"CUDART_VERSION": number, "CUDA_VERSION": number, "__CUDACC_VER_BUILD__": 0}
    names |= {"__CUDACC_VER_MAJOR__": int(major), "__CUDACC_VER_MINOR__": int(minor)}
    lines = "".join(f"#define {name} {value}\n" for name, value in names.items())
    _put(toolkit.include / "morph" / "version.h", f"#pragma once\n{lines}")


def _put(path: pathlib.Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _link(path: pathlib.Path, target: pathlib.Path | str) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to(target)


def _compiler(home: pathlib.Path, refusal: str) -> str:
    root = str(HERE.parents[2])
    run = "from morph.kernels.extensions.nvcc import main; sys.exit(main())"
    program = f"import sys; sys.path.insert(0, {root!r}); {run}"
    words = shlex.join([sys.executable, "-I", "-S", "-c", program])
    given = f"MORPH_NVCC_HOME={shlex.quote(str(home))} MORPH_NVCC_REFUSAL={shlex.quote(refusal)}"
    return f'#!/bin/sh\n{given} exec {words} "$@"\n'


def _build(folder: pathlib.Path, library: pathlib.Path) -> pathlib.Path:
    """Compile the runtime in ``folder``; it names itself by the path at which it will be kept."""
    root = pathlib.Path(torch.__path__[0])
    includes = [library.parents[1] / "include", *compiling.torch_includes(root / "include")]
    python = {sysconfig.get_path("include"), sysconfig.get_path("platinclude")}
    words = [*compiling.compiler(), *_FLAGS, f"-D_GLIBCXX_USE_CXX11_ABI={int(Target.installed().cxx11_abi)}"]
    words += [f"-I{each}" for each in [*includes, *sorted(python)]]
    sources = sorted((HERE / "native").glob("*.cpp"))
    objects = [folder / f"{source.stem}.o" for source in sources]
    links = [f"-L{root / 'lib'}", *(f"-l{each}" for each in _LIBRARIES), f"-Wl,-soname,{library}"]
    built = folder / LIBRARY
    try:
        run_together(
            [[*words, "-c", str(s), "-o", str(o)] for s, o in zip(sources, objects, strict=True)], folder
        )
        # without -fopenmp: its functions are those of the OpenMP library that torch brings
        run_together(
            [[*compiling.compiler(), "-shared", *map(os.fspath, objects), *links, "-o", str(built)]], folder
        )
    except CommandError as error:
        raise BuildError(
            f"the runtime of CUDA extensions did not build: {error.summary}\n{error.output}"
        ) from None
    return built
