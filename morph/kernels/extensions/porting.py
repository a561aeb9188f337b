"""CUDA C++ as a vendor's dialect of it, by the vendor's table in ``aliases/porting``."""

from __future__ import annotations

import dataclasses
import functools
import os
import pathlib
import re
from collections.abc import Mapping, Sequence

import morph
from morph.base import toml
from morph.base.errors import MorphError
from morph.kernels.extensions.inclusion import files_of

TABLES = pathlib.Path(morph.__path__[-1], "aliases", "porting")
_TOKEN = re.compile(
    r"//[^\n]*|/\*.*?\*/|(?P<include>\#[ \t]*include[ \t]*)(?P<open>[<\"])(?P<header>[^>\"\n]+)[>\"]"
    r'|R"([^(\s"]*)\(.*?\)\4"|"(?:[^"\\\n]|\\.)*"|(?<![0-9A-Fa-f])\'(?:[^\'\\\n]|\\.)+\'|(?P<word>[A-Za-z_]\w*)',
    re.DOTALL,
)


class PortingError(MorphError):
    """A source holds what the vendor's compiler does not have."""


@dataclasses.dataclass(frozen=True)
class Dialect:
    """A vendor's dialect of CUDA C++.

    Attributes:
        suffix: Of the files in it.
        flags: The key of ``extra_compile_args`` for its compiler.
        names: Its identifiers and torch's, by CUDA's.
        prefixes: The beginnings of its identifiers, by CUDA's.
        headers: Its headers, by CUDA's and torch's.
        same: The beginnings of the other headers that it has under the same name.
        missing: The beginnings of the other headers that it does not have.
    """

    suffix: str
    flags: str
    names: Mapping[str, str]
    prefixes: Mapping[str, str]
    headers: Mapping[str, str]
    same: tuple[str, ...]
    missing: tuple[str, ...]

    def name(self, word: str) -> str:
        """Return an identifier of CUDA's as the dialect has it; others as they are."""
        if word in self.names:
            return self.names[word]
        match = self._beginnings.match(word)
        return match[1] + self.prefixes[match[2]] + word[match.end() :] if match else word

    @functools.cached_property
    def _beginnings(self) -> re.Pattern[str]:
        longest_first = sorted(self.prefixes, key=len, reverse=True)
        return re.compile(rf"(_*)({'|'.join(longest_first)})(?:(?=[A-Z0-9_]|$)|(?<=\bCU)(?=[a-z]))")

    def header(self, name: str) -> str | None:
        """Return a header as the dialect has it, others as they are; None if it has none for it."""
        if name in self.headers:
            return self.headers[name]
        return None if name.startswith(self.missing) and not name.startswith(self.same) else name


@functools.cache
def dialect(backend: str) -> Dialect:
    """Return the dialect of a backend that has a table."""
    table = toml.loads((TABLES / f"{backend}.toml").read_text(encoding="utf-8"))
    return Dialect(
        table["compiler"]["suffix"],
        table["compiler"]["flags"],
        {**table["names"], **table["torch"]},
        table["toolkit"],
        table["headers"],
        tuple(table["rest"]["same"]),
        tuple(table["rest"]["missing"]),
    )


def port(text: str, file: str, to: Dialect) -> str:
    """Return a source in a dialect; comments and texts stay as they are.

    Args:
        text: The source.
        file: Its name, for errors.
        to: The dialect.

    Raises:
        PortingError: If it includes a header that the dialect does not have, or holds PTX; with the line.
    """

    def replaced(match: re.Match[str]) -> str:
        if match["header"]:
            header = to.header(match["header"])
            if header is None:
                raise _error(file, match, f"no header is known there for {match['header']}")
            return match["include"] + match["open"] + header + (">" if match["open"] == "<" else '"')
        if match["word"] in ("asm", "__asm__", "__asm"):
            raise _error(file, match, "inline PTX, which only NVIDIA's compiler takes")
        return to.name(match["word"]) if match["word"] else match[0]

    return _TOKEN.sub(replaced, text)


def _error(file: str, match: re.Match[str], problem: str) -> PortingError:
    line = match.string.count("\n", 0, match.start()) + 1
    return PortingError(f"{file}:{line}: error: {problem}")


def port_files(
    sources: Sequence[str], includes: Sequence[str], folder: pathlib.Path, to: Dialect
) -> Mapping[str, str]:
    """Port sources and the program's own headers that they include.

    Args:
        sources: The files to compile, relative to the current folder or absolute.
        includes: The folders of headers, likewise.
        folder: Where to write.
        to: The dialect.

    Returns:
        What stands in the place of each source and folder, by absolute path.

    Raises:
        PortingError: As ``port`` does, or if there is no such source.
    """
    absolute = [os.path.abspath(source) for source in sources]
    for missing in (each for each in absolute if not os.path.isfile(each)):
        raise PortingError(f"{missing}: error: there is no such source")
    searched = [os.path.abspath(each) for each in includes]
    files = files_of(absolute, searched)
    holding = {str(parent) for file in files for parent in file.parents}
    folders = [each for each in searched if each in holding]
    root = os.path.commonpath([*folders, *(file.parent for file in files)])
    written = {each: str(folder / os.path.relpath(each, root)) for each in folders}
    for file in files:
        is_cuda = str(file) in absolute and file.suffix == ".cu"
        target = folder / file.relative_to(root).with_suffix(to.suffix if is_cuda else file.suffix)
        target.parent.mkdir(parents=True, exist_ok=True)
        source = file.read_text(errors="surrogateescape")
        target.write_text(port(source, str(file), to), errors="surrogateescape")
        written[str(file)] = str(target)
    return written
