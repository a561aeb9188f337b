"""The state of morph's C++ parts: a compiler, and the libraries that a wheel or the cache holds."""

from __future__ import annotations

import pathlib
import subprocess
from collections.abc import Iterator

from morph.base import host
from morph.base.display import counted
from morph.base.native import BuildError, cache, prebuilt

PLACES = "wheel", "cache", "instead of it"
BESIDE = (".digest", ".lock", ".log", ".partial")
MAPPED = pathlib.Path("/proc/self/maps")


def compiler() -> str:
    """Return the C++ compiler's command and the first line of its version, or why there is none."""
    try:
        command = host.compiler()
        done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False)
    except (BuildError, OSError) as error:
        return str(error)
    first = (done.stdout or done.stderr).strip().partition("\n")[0]
    return f"{' '.join(command)}: {first or f'ends with status {done.returncode}'}"


def kept() -> dict[str, str]:
    """Return what the wheel, the cache, and the folder in the cache's stead hold, in words."""
    return {name: f"{folder}: {_told(folder)}" for name, folder in zip(PLACES, _folders(), strict=True)}


def loaded() -> list[str]:
    """Return the paths of morph's libraries that this process has loaded."""
    lines = MAPPED.read_text().splitlines() if MAPPED.exists() else []
    paths = {pathlib.Path(line.split(maxsplit=5)[-1]) for line in lines if ".so" in line}
    return sorted(str(path) for path in paths if any(path.is_relative_to(each) for each in _folders()))


def _folders() -> Iterator[pathlib.Path]:
    yield from (prebuilt.FOLDER, *cache.folders())


def _told(folder: pathlib.Path) -> str:
    found = (each for each in folder.rglob("*.so*") if each.is_file() and not each.is_symlink())
    libraries = [each for each in found if each.suffix not in BESIDE]
    if not libraries:
        return "none" if folder.is_dir() else "none, no such folder"
    size = sum(each.stat().st_size for each in libraries) / (1 << 20)
    failed = [each.name for each in folder.rglob("*.log")]
    names = ", ".join(sorted({each.name.partition("-")[0] for each in libraries}))
    said = f"{counted(len(libraries), 'file')}, {size:.0f} MiB: {names}"
    return f"{said}; did not build: {', '.join(failed)}" if failed else said
