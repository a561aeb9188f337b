"""A CUDA toolkit of morph's own: a folder as ``CUDA_HOME`` names one, for torch's builds and all others."""

from __future__ import annotations

import contextlib
import dataclasses
import pathlib
import shlex
import sys

import torch

from morph.base import native, private
from morph.base.native import BuildError, cache, compiling
from morph.base.native.library import Recipe, Unit, ensure_unchanged, together
from morph.base.native.target import Target
from morph.kernels import ptx
from morph.kernels.extensions import headers
from morph.software.settings import TOOLKIT

HERE = pathlib.Path(__file__).parent
INCLUDE = HERE / "include"
LIBRARY = "libcudart.so"
_ALIASES = (  # which programs link: all is in one library
    *("libc10_cuda.so", "libtorch_cuda.so", "libcuda.so", "libcublas.so", "libcurand.so", "libcufft.so"),
    *("libcusparse.so", "libcusparse_static.so"),
    *("libnvToolsExt.so", "libcublasLt.so", "libcudart_static.so", "libcudadevrt.so", "libculibos.so"),
    *("libcublas_static.so", "libcublasLt_static.so", "libcurand_static.so", "libcufft_static.so"),
    *("libnvidia-ml.so", "libnccl.so", "libnccl_static.so", "libnvrtc.so", "libnvrtc_static.so"),
    *("libcusolver.so", "libcusolver_static.so"),
    *("libnvrtc-builtins_static.so", "libnvptxcompiler_static.so"),
)
_FLAGS = ("-std=c++20", "-O2", "-fPIC", "-fno-semantic-interposition", "-fopenmp", "-w", f"-I{INCLUDE}")


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

    def library(self) -> native.Library:
        """Return its runtime, which all of its libraries are; it names itself by its path."""
        home = f"{{folder}}/{self.home.name}"
        place = pathlib.Path(self.home.name, self.libraries.name, LIBRARY)
        # each name has a version: a torch built for CUDA has loaded NVIDIA's library, for all of the process
        named = f"-Wl,--default-symver,-soname,{home}/{self.libraries.name}/{LIBRARY}"
        links = (*compiling.links(), named)
        abi = f"-D_GLIBCXX_USE_CXX11_ABI={int(Target.installed().cxx11_abi)}"
        includes = (f"{home}/include", *map(str, compiling.include_folders()))
        options = (*_FLAGS, abi, *(f"-I{each}" for each in includes))
        return native.Library("CUDA's runtime", place, lambda: self._recipe(options, links))

    def _recipe(self, options: tuple[str, ...], links: tuple[str, ...]) -> Recipe:
        units = _units()
        ensure_unchanged(pathlib.Path(self.home.name), pathlib.Path(_name()))
        return Recipe(self.home.name, units, options, links)


def assemble(refusal: str = "") -> Toolkit:
    """Return the toolkit for the installed torch, its headers and its compiler in place.

    Args:
        refusal: Why its compiler compiles nothing; then there are neither headers nor libraries.

    Raises:
        BuildError: If there is no folder to keep it in.
    """
    name = _name(refusal)
    problems = []
    for folder in cache.folders():
        toolkit = Toolkit(folder / name)
        try:
            _write(toolkit, refusal)
        except OSError as error:
            problems.append(f"{folder}: {error.strerror or error}")
            continue
        return toolkit
    raise BuildError(f"no folder to keep the toolkit for CUDA extensions in: {'; '.join(problems)}")


def _name(refusal: str = "") -> str:
    # it leads to this folder's files, so another copy of the same files has a toolkit of its own
    identity = [*_FLAGS, sys.executable, torch.version.cuda or TOOLKIT, str(HERE), refusal]
    folders = [HERE, ptx.HEADERS.parent]
    return f"cuda-{native.digest([*Target.installed().identity, *identity], folders, _tables())}"


def _tables() -> list[Unit]:
    kinds = (".py", ".toml", ".cuh", ".hpp", "")
    found = (path for folder in (HERE, ptx.HEADERS.parent) for path in folder.rglob("*"))
    files = sorted(path for path in found if path.is_file() and path.suffix in kinds)
    own = [Unit(str(path.relative_to(HERE.parent)), path.read_text()) for path in files]
    # as they were loaded: a process that outlives an upgrade must not write them under the new one's digest
    loaded = Unit("loaded", repr((headers.served(), headers.libraries(), headers.features())))
    return [*own, loaded, Unit(headers.NUMBERS.name, headers.NUMBERS.read_text(encoding="utf-8"))]


def _write(toolkit: Toolkit, refusal: str) -> None:
    done = toolkit.home / "complete"
    if private.is_private(done):
        return
    private.prepare(toolkit.home)
    with cache.locked(toolkit.home, contextlib.nullcontext):
        if not private.is_private(done):
            _fill(toolkit, refusal)
            private.write(done, b"")


def _fill(toolkit: Toolkit, refusal: str) -> None:
    for folder in ("bin", "include", "lib64", "nvvm/libdevice"):  # by the last, CMake knows a toolkit
        (toolkit.home / folder).mkdir(mode=0o700, parents=True, exist_ok=True)
    _write_version(toolkit)
    compiler = _compiler(toolkit.home, refusal)
    private.write(toolkit.home / "bin" / "nvcc", compiler.encode(), mode=0o700)
    if refusal:
        return
    _write_headers(toolkit.include)
    for alias in _ALIASES:
        _link(toolkit.libraries / alias, LIBRARY)


def _write_headers(folder: pathlib.Path) -> None:
    for own_headers in (INCLUDE, ptx.HEADERS):
        for path in own_headers.rglob("*"):
            if path.is_file():
                target = folder / path.relative_to(own_headers)
                target.parent.mkdir(parents=True, exist_ok=True)
                _link(target, path)
    _put(folder / "morph" / "enumerators.h", headers.enumerators())
    _put(folder / "morph" / "architectures.h", headers.architectures())
    for own, names in headers.served().items():
        for name in names:
            _put(folder / name, f'#pragma once\n#include "{own}"\n')
    (folder / "cccl").mkdir(exist_ok=True)
    for part in ("cub", "cuda", "nv", "thrust"):  # CUDA 13 has them in a folder of their own
        _link(folder / "cccl" / part, folder / part)
    refused = {**headers.libraries(), **headers.features()}
    for name, reason in refused.items():
        if not name.endswith("/"):
            _put(folder / name, f'#error "morph: {name}: the software device has no {reason}"\n')


def _write_version(toolkit: Toolkit) -> None:
    """Say that this is the release of CUDA that torch says it was built with: torch compares the two."""
    version = torch.version.cuda or TOOLKIT
    major, minor = version.split(".")[:2]
    (toolkit.home / "version.txt").write_text(version)
    (toolkit.home / "version.json").write_text(
        f'{{"cuda": {{"version": "{major}.{minor}.0"}}}}'
    )  # CMake reads it
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
    # without site-packages there is no platformdirs, which finds the cache
    variables = {"MORPH_CACHE": home.parents[1], "MORPH_NVCC_HOME": home, "MORPH_NVCC_REFUSAL": refusal}
    given = " ".join(f"{name}={shlex.quote(str(value))}" for name, value in variables.items())
    return f'#!/bin/sh\n{given} exec {words} "$@"\n'


def _units() -> tuple[Unit, ...]:
    sources = HERE / "native"
    heavy = {name: sources / f"{name}.cpp" for name in ("libraries", "torch_cuda")}  # with torch's headers
    others = sorted({*sources.glob("*.cpp")} - {*heavy.values()})
    checks = together("sanitizer", (sources / "sanitizer").glob("*.cpp"))
    return (*(together(name, [file]) for name, file in heavy.items()), together("runtime", others), checks)
