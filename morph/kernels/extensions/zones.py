"""Zones of nothing between the variables of a block's shared memory, for the sanitizer.

Each is a thread-local variable of the host. Where a kernel goes over its end, no other must be hit unseen.
"""

from __future__ import annotations

import re

ALIGNED = 512  # bytes: by it such a variable is told from others
ZONE = 256  # bytes
PREFIX = "morph.shared."  # of a second name for each, which native/sanitizer/variables.cpp looks for

_SECTIONS = re.compile(r"^(?=\t\.(?:section|text|data|bss)\b)", re.MULTILINE)
_VARIABLE = re.compile(
    r"^(?P<head>\t\.align (?P<alignment>\d+)\n"
    r"\t\.type\t(?P<name>\S+), .*\n\t\.size\t(?P=name), (?P<bytes>\d+)\n)"
    r"(?P<itself>(?P=name):\n\t\.zero\t\d+\n)",
    re.MULTILINE,
)


def add(assembler: str) -> str:
    """Return what g++ wrote with a zone after each variable of shared memory.

    Args:
        assembler: GNU assembler's source.
    """
    sections = _SECTIONS.split(assembler)
    return "".join(
        _VARIABLE.sub(_with_zone, each) if each.startswith("\t.section\t.tbss") else each for each in sections
    )


def _with_zone(found: re.Match[str]) -> str:
    if int(found["alignment"]) < ALIGNED:
        return found[0]
    second = f"{PREFIX}{found['name']}"
    name = f"\t.type\t{second}, @tls_object\n\t.size\t{second}, {found['bytes']}\n{second}:\n"
    return f"{found['head']}{name}{found['itself']}\t.zero\t{ZONE}\n"
