"""Shared libraries in C++ without torch's headers, under the file names that other programs look for."""

from __future__ import annotations

import dataclasses
import hashlib
import pathlib
import platform
import shlex
from collections.abc import Callable, Mapping, Sequence

from morph import host
from morph.errors import BuildError
from morph.native import cache, compiling, prebuilt
from morph.native.commands import CommandError, run_together

FLAGS = ("-std=c++20", "-O2", "-fPIC", "-fvisibility=hidden", "-w")


@dataclasses.dataclass(frozen=True)
class SharedLibrary:
    """A shared library and what it is built from.

    Attributes:
        file: Its file name, which is also its soname: ``"libcudart.so.12"``.
        sources: The C++ files; headers that lie beside them (``*.h``) count as part of them.
        generated: More C++ files, as text by name.
    """

    file: str
    sources: Sequence[pathlib.Path]
    generated: Mapping[str, str]

    def place(self, machine: str) -> pathlib.Path:
        """Return where it lies in a folder of libraries, which differs for each source and machine.

        Args:
            machine: As ``platform.machine()`` calls it.
        """
        digest = hashlib.sha256("\0".join([machine, *FLAGS]).encode())
        headers = sorted({header for source in self.sources for header in source.parent.glob("*.h")})
        for file in [*self.sources, *headers]:
            digest.update(file.name.encode() + b"\0" + file.read_bytes())
        for name, text in self.generated.items():
            digest.update(name.encode() + b"\0" + text.encode())
        return pathlib.Path("shared", digest.hexdigest()[:20], self.file)

    def compile(self, compiler: Sequence[str], folder: pathlib.Path) -> pathlib.Path:
        """Compile it.

        Args:
            compiler: The compiler's command.
            folder: An empty folder.

        Returns:
            Its path in the folder.

        Raises:
            CommandError: If the compiler fails.
        """
        for name, text in self.generated.items():
            (folder / name).write_text(text)
        includes = sorted({source.parent for source in self.sources})
        command = [*compiler, *FLAGS, *(f"-I{include}" for include in includes)]
        files = [*self.sources, *(folder / name for name in self.generated)]
        objects = [folder / f"{file.stem}.o" for file in files]
        steps = [[*command, "-c", str(s), "-o", str(o)] for s, o in zip(files, objects, strict=True)]
        run_together(steps, folder)
        link = ["-shared", "-s", "-Wl,--no-undefined", f"-Wl,-soname,{self.file}", *map(str, objects)]
        run_together([[*command, *link, "-o", str(folder / self.file)]], folder)
        return folder / self.file


def build_shared(library: SharedLibrary, progress: Callable[[str], None] | None = None) -> pathlib.Path:
    """Build a shared library unless the wheel or the cache holds it; nothing is loaded.

    Args:
        library: What to build.
        progress: Called with one line before waiting for another process that builds it.

    Raises:
        BuildError: If it cannot be built: no compiler, or no folder to keep it in.
    """
    place = library.place(platform.machine())
    if prepared := prebuilt.find_shared(place):
        return prepared
    for folder in cache.folders():
        if cache.is_sound(folder / place):
            return folder / place
    problems = []
    for folder in cache.folders():
        try:
            return _provide(library, folder / place, progress)
        except OSError as error:  # no place left, or nothing can be written
            problems.append(f"{folder}: {error.strerror or error}")
    raise BuildError(f"no folder to keep {library.file} in: {'; '.join(problems)}")


def _provide(
    library: SharedLibrary, path: pathlib.Path, progress: Callable[[str], None] | None
) -> pathlib.Path:
    cache.prepare(path.parent)
    with cache.locked(path, progress):
        if not cache.is_sound(path):
            with cache.scratch(path) as folder:
                cache.keep(_compile(library, path, folder), path)
    return path


def _compile(library: SharedLibrary, path: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    compiler, log = host.compiler(), path.with_suffix(".log")
    if compiling.has_refused(compiler, log):
        raise BuildError(f"an earlier build of {library.file} failed, see {log}; delete it to try again")
    try:
        return library.compile(compiler, folder)
    except CommandError as error:
        if not error.is_transient:
            identity = compiling.identity(compiler)
            log.write_text(f"{identity}\n{shlex.join(error.command)}\n{error.output}")
        raise BuildError(f"{library.file} did not build: {error.summary}") from None
