"""Shared libraries in C++ without torch's headers, under the file names that other programs look for."""

from __future__ import annotations

import hashlib
import pathlib
import platform
import shlex
from collections.abc import Callable, Mapping, Sequence

from morph.native import cache, compiling
from morph.native.commands import CommandError, run_together
from morph.native.compiling import BuildError

FLAGS = ("-std=c++20", "-O2", "-fPIC", "-fvisibility=hidden", "-w")


def build_shared(
    file: str,
    sources: Sequence[pathlib.Path],
    generated: Mapping[str, str],
    progress: Callable[[str], None] | None = None,
) -> pathlib.Path:
    """Build a shared library unless the cache holds it; nothing is loaded.

    Args:
        file: Its file name, which is also its soname: ``"libcudart.so.12"``.
        sources: The C++ files; headers that lie beside them (``*.h``) count as part of them.
        generated: More C++ files, as text by name.
        progress: Called with one line before a build, and before waiting for one.

    Raises:
        BuildError: If it cannot be built: no compiler, or no folder to keep it in.
    """
    kept = pathlib.Path("shared", _digest(sources, generated), file)
    for folder in cache.folders():
        if cache.is_sound(folder / kept):
            return folder / kept
    problems = []
    for folder in cache.folders():
        try:
            return _provide(folder / kept, sources, generated, progress)
        except OSError as error:  # no place left, or nothing can be written
            problems.append(f"{folder}: {error.strerror or error}")
    raise BuildError(f"no folder to keep {file} in: {'; '.join(problems)}")


def _provide(
    library: pathlib.Path,
    sources: Sequence[pathlib.Path],
    generated: Mapping[str, str],
    progress: Callable[[str], None] | None,
) -> pathlib.Path:
    cache.prepare(library.parent)
    with cache.locked(library, progress):
        if not cache.is_sound(library):
            with cache.scratch(library) as folder:
                cache.keep(_compile(library, sources, generated, folder), library)
    return library


def _compile(
    library: pathlib.Path,
    sources: Sequence[pathlib.Path],
    generated: Mapping[str, str],
    folder: pathlib.Path,
) -> pathlib.Path:
    for name, text in generated.items():
        (folder / name).write_text(text)
    compiler, log = compiling.compiler(), library.with_suffix(".log")
    if compiling.has_refused(compiler, log):
        raise BuildError(f"an earlier build of {library.name} failed, see {log}; delete it to try again")
    command = [*compiler, *FLAGS, *(f"-I{each}" for each in sorted({s.parent for s in sources}))]
    files = [*sources, *(folder / name for name in generated)]
    objects = [folder / f"{each.stem}.o" for each in files]
    steps = [[*command, "-c", str(s), "-o", str(o)] for s, o in zip(files, objects, strict=True)]
    link = [
        *command,
        "-shared",
        "-Wl,--no-undefined",
        f"-Wl,-soname,{library.name}",
        *map(str, objects),
        "-o",
        str(folder / library.name),
    ]
    try:
        run_together(steps, folder)
        run_together([link], folder)
    except CommandError as error:
        if not error.is_transient:
            identity = compiling.identity(compiler)
            log.write_text(f"{identity}\n{shlex.join(error.command)}\n{error.output}")
        raise BuildError(f"{library.name} did not build: {error.summary}") from None
    return folder / library.name


def _digest(sources: Sequence[pathlib.Path], generated: Mapping[str, str]) -> str:
    digest = hashlib.sha256("\0".join([platform.machine(), *FLAGS]).encode())
    headers = sorted({header for source in sources for header in source.parent.glob("*.h")})
    for file in [*sources, *headers]:
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    for name, text in generated.items():
        digest.update(name.encode() + b"\0" + text.encode())
    return digest.hexdigest()[:20]
