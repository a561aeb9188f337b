"""The host: the memory available to this process, in bytes, and the C++ compiler."""

from __future__ import annotations

import os
import pathlib
import re
import shlex
import shutil
from collections.abc import Iterator

from morph.base.errors import BuildError

# Where a control group's memory limit and use are found: version 2, then version 1
_FILES = (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes"))
_ROOT = pathlib.Path("/sys/fs/cgroup")
_MEMORY = pathlib.Path("/proc/meminfo")


def total_memory() -> int:
    """Return the memory limit of this process: the host's memory, or its control groups' limit if lower."""
    installed = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min([installed, *(limit for limit, _ in _groups())])


def free_memory() -> int:
    """Return the part of ``total_memory`` that is still free."""
    left = (max(0, limit - used) for limit, used in _groups())
    return min([_available(), *left])


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


def _available() -> int:
    text = _MEMORY.read_text() if _MEMORY.exists() else ""
    found = re.search(r"^MemAvailable:\s*(\d+) kB", text, re.MULTILINE)
    return int(found[1]) << 10 if found else os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _groups() -> Iterator[tuple[int, int]]:
    for folder in _folders():
        for limit, used in _FILES:
            if (folder / limit).exists() and (folder / used).exists():
                text = (folder / limit).read_text().strip()
                if text != "max":
                    yield int(text), int((folder / used).read_text())


def _folders() -> Iterator[pathlib.Path]:
    """The control groups of this process, innermost first; a container mounts its own as the root."""
    own = pathlib.Path("/proc/self/cgroup")
    for line in own.read_text().splitlines() if own.exists() else ():
        _, controllers, path = line.split(":", 2)
        if controllers in ("", "memory"):
            root = _ROOT / controllers
            group = root / path.strip("/")
            yield from (folder for folder in (group, *group.parents) if folder.is_relative_to(root))
