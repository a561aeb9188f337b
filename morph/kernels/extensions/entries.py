"""The kernels of a source that is compiled at run time: each one is put on the list of its module."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from morph.kernels.extensions import launches
from morph.kernels.extensions.source import Edits, Source

_TEMPLATE = re.compile(r"(?<!\w)template\s*<")


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


def add(source: Source, edits: Edits) -> None:
    """Put what lists a kernel after the definition of each; templates are asked for by their arguments."""
    for number, each in enumerate(_definitions(source)):
        kernel = f"&{each.name}"
        if "=" not in each.parameters:  # the type tells overloaded functions apart, and takes no defaults
            kernel = f"static_cast<void (*)({launches.LINE.sub(' ', each.parameters)})>({kernel})"
        edits.replace(
            each.end, each.end, f" static const ::morph_cuda::Known morph_known_{number}(nullptr, {kernel});"
        )


def _definitions(source: Source) -> Iterator[Definition]:
    for place, called in launches.kernels(source):
        opening = called.end() - 1
        closing = source.close(opening)
        body = re.compile(r"\s*\{").match(source.code, closing + 1)
        if body and not _TEMPLATE.search(_before(source, place)):
            end = source.close(body.end() - 1) + 1
            yield Definition(called[1], source.text[opening + 1 : closing], end)


def _before(source: Source, place: int) -> str:
    """Return the code of a declaration before a place in it."""
    return re.split(r"[;{}]", source.head(place))[-1]
