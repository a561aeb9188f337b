"""The kernels of a source by their definitions: on the list of a module, or known by their addresses."""

from __future__ import annotations

import collections
import re
from collections.abc import Iterator
from typing import NamedTuple

from morph.kernels.extensions import launches
from morph.kernels.extensions.source import Edits, Source

_NAME = re.compile(r"[\w:]+\Z")


class Definition(NamedTuple):
    """The definition of a kernel.

    Attributes:
        name: Its name in the scope where it stands.
        parameters: What stands between its parentheses.
        end: The place after its body.
    """

    name: str
    parameters: str
    end: int

    @property
    def is_told_by_type(self) -> bool:
        """Whether its parameters tell it from others of its name: a type takes no defaults.

        Where a kernel of a namespace is defined outside of it, its types are not found by their names.
        """
        return "=" not in self.parameters and "::" not in self.name


def add(source: Source, edits: Edits) -> None:
    """Put what lists a kernel after the definition of each; templates are asked for by their arguments."""
    for number, each in enumerate(_definitions(source)):
        known = f" static const ::morph_cuda::Known morph_known_{number}(nullptr, {_pointer(each)});"
        edits.replace(each.end, each.end, known)


def remember(source: Source, edits: Edits) -> None:
    """Let each kernel be launched by its address, which a file that nvcc does not compile may take."""
    names = collections.Counter(called[1] for _, called, _ in bodies(source))
    for number, each in enumerate(_definitions(source)):
        if not each.is_told_by_type and names[each.name.rpartition("::")[2]] > 1:
            continue
        address = f"::morph_cuda::kernel_address->*{_pointer(each)}"
        edits.replace(each.end, each.end, f" static void* const morph_address_{number} = {address};")


def _pointer(kernel: Definition) -> str:
    if not kernel.is_told_by_type:
        return f"&{kernel.name}"
    return f"static_cast<void (*)({launches.LINE.sub(' ', kernel.parameters)})>(&{kernel.name})"


def _definitions(source: Source) -> Iterator[Definition]:
    for place, called, body in bodies(source):
        if ">" in before(source, place):  # which ends what is before a template
            continue
        name = _NAME.search(source.code[place : called.end(1)])
        parameters = source.text[called.end() : source.close(called.end() - 1)]
        yield Definition(name[0] if name else called[1], parameters, source.close(body) + 1)


def bodies(source: Source) -> Iterator[tuple[int, re.Match[str], int]]:
    """Yield where the kernels are defined, the match of each one's name, and where its body opens."""
    for place, called in launches.kernels(source):
        body = re.compile(r"\s*\{").match(source.code, source.close(called.end() - 1) + 1)
        if body:
            yield place, called, body.end() - 1


def before(source: Source, place: int) -> str:
    """Return the code of a declaration before a place in it."""
    return re.split(r"[;{}]", source.head(place))[-1]
