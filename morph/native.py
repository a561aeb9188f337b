"""Builds C++ extensions against the installed torch, once, and keeps them in the user's cache.

The compiler is called directly: ``torch.utils.cpp_extension`` would import a large part of torch (and need
ninja) in every process that only wants to load what was built long ago.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.machinery
import importlib.util
import os
import pathlib
import shlex
import shutil
import stat
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType

import filelock
import platformdirs
import torch

from morph import variables
from morph.errors import MorphError

Progress = Callable[[str], None]

FLAGS = ("-std=c++20", "-O2", "-fPIC", "-fvisibility=hidden", "-w")
LIBRARIES = ("c10", "torch_cpu", "torch_python")
COMPILER_MEMORY = 3 << 29  # bytes that one compiler needs, mostly for torch's headers


class BuildError(MorphError):
    """A C++ part could not be built: no compiler, no headers, or a compile error."""


def build(
    name: str, sources: Sequence[os.PathLike[str] | str], *, progress: Progress | None = None
) -> pathlib.Path:
    """Build an extension module from C++ sources unless the cache holds it.

    If two processes build at the same time, only one of them compiles.

    Args:
        name: The module's name, also its ``TORCH_EXTENSION_NAME``.
        sources: The C++ files; headers beside them (``*.h``) count as part of them.
        progress: Called with one line before a build; not called when the cache holds the module.

    Returns:
        The path of the shared library, for ``load``.

    Raises:
        BuildError: If it cannot be built. A compile error is remembered beside the cached
            libraries, so that it costs time only once.
    """
    files = [pathlib.Path(source) for source in sources]
    library = _library_name(name, files)
    for folder in filter(_is_ours, _cache_folders()):
        if (folder / library).exists():
            return folder / library
    folder = _writable(_cache_folders())
    # The kernel releases this lock when its holder dies: it is never stale.
    with filelock.FileLock(folder / (library + ".lock")):
        if not (folder / library).exists():
            _build(name, files, folder / library, progress)
    return folder / library


def load(name: str, library: pathlib.Path) -> ModuleType:
    """Import a built extension module without entering it in ``sys.modules``.

    Args:
        name: The name it was built under.
        library: The path that ``build`` returned.

    Returns:
        The module.
    """
    loader = importlib.machinery.ExtensionFileLoader(name, str(library))
    spec = importlib.util.spec_from_file_location(name, library, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def compiler() -> list[str]:
    """Find the C++ compiler: ``$CXX``, else the first of c++, g++ and clang++.

    Returns:
        The command and its options.

    Raises:
        BuildError: When there is none.
    """
    named = shlex.split(os.environ.get("CXX", ""))
    for command in [named] if named else [["c++"], ["g++"], ["clang++"]]:
        if shutil.which(command[0]):
            return command
    raise BuildError(f"no C++ compiler: {named[0] + ' (CXX)' if named else 'c++, g++, clang++'} not found")


def _library_name(name: str, sources: list[pathlib.Path]) -> str:
    identity = [torch.__version__, str(torch.version.git_version), str(torch.compiled_with_cxx11_abi())]
    identity += [sysconfig.get_platform(), *FLAGS]
    digest = hashlib.sha256("\0".join(identity).encode())
    headers = {header for source in sources for header in source.parent.glob("*.h")}
    for file in [*sources, *sorted(headers)]:
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    return f"{name}-{digest.hexdigest()[:20]}{suffix}"


def _cache_folders() -> list[pathlib.Path]:
    cache = pathlib.Path(variables.read("MORPH_CACHE") or platformdirs.user_cache_path("morph"))
    return [cache / "native", pathlib.Path(tempfile.gettempdir()) / f"morph-native-{os.getuid()}"]


def _is_ours(folder: pathlib.Path) -> bool:
    """Return whether libraries in the folder may be loaded: only this user can write to it."""
    if not folder.is_dir():
        return False
    status = folder.stat()
    return status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _writable(folders: list[pathlib.Path]) -> pathlib.Path:
    for folder in folders:
        with contextlib.suppress(OSError):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if _is_ours(folder) and _takes_files(folder):
            return folder
    raise BuildError(f"no folder to build in: {' and '.join(map(str, folders))} cannot be written")


def _takes_files(folder: pathlib.Path) -> bool:
    # Tested by writing: os.access returns True for root on a read-only file system.
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _build(name: str, sources: list[pathlib.Path], library: pathlib.Path, progress: Progress | None) -> None:
    log = library.with_suffix(".log")
    if log.exists():
        message = f"an earlier build of the C++ part {name!r} failed, see {log}"
        raise BuildError(f"{message}; delete it to try again")
    command = compiler()
    if progress is not None:
        progress(f"building {name} for torch {torch.__version__}, once (minutes on few cores)")
    with tempfile.TemporaryDirectory(dir=library.parent, prefix=name) as scratch:
        built = pathlib.Path(scratch) / library.name
        try:
            _compile(command, name, sources, built)
        except subprocess.CalledProcessError as error:
            log.write_text(f"{shlex.join(error.cmd)}\n{error.stderr}")
            problem = _first_error(error.stderr)
            raise BuildError(f"the C++ part {name!r} did not build: {problem}; see {log}") from None
        os.replace(built, library)


def _compile(command: list[str], name: str, sources: list[pathlib.Path], library: pathlib.Path) -> None:
    includes = [f"-I{path}" for path in _include_folders()]
    abi = f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}"
    options = [*FLAGS, abi, f"-DTORCH_EXTENSION_NAME={name}", *includes]
    objects = [library.with_name(source.stem + ".o") for source in sources]
    steps = [[*command, *options, "-c", str(s), "-o", str(o)] for s, o in zip(sources, objects, strict=True)]
    _run_together(steps)
    undefined = ["-undefined", "dynamic_lookup"] if sys.platform == "darwin" else []
    links = [f"-L{_torch_folder() / 'lib'}", *(f"-l{each}" for each in LIBRARIES)]
    _run_together([[*command, "-shared", *undefined, *map(str, objects), *links, "-o", str(library)]])


def _run_together(commands: list[list[str]]) -> None:
    """Run commands, as many at once as cores and memory allow."""
    with ThreadPoolExecutor(_jobs()) as pool:
        done = [pool.submit(_run, command) for command in commands]
        try:
            for each in done:
                each.result()
        except subprocess.CalledProcessError:
            pool.shutdown(cancel_futures=True)
            raise


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def _jobs() -> int:
    memory = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(1, min(len(os.sched_getaffinity(0)), memory // COMPILER_MEMORY))


def _include_folders() -> list[pathlib.Path]:
    include = _torch_folder() / "include"
    python = {sysconfig.get_path("include"), sysconfig.get_path("platinclude")}
    return [include, include / "torch" / "csrc" / "api" / "include", *map(pathlib.Path, sorted(python))]


def _torch_folder() -> pathlib.Path:
    return pathlib.Path(torch.__path__[0])


def _first_error(output: str) -> str:
    lines = [line for line in output.splitlines() if "error" in line]
    return (lines or output.splitlines() or ["the compiler said nothing"])[0].strip()
