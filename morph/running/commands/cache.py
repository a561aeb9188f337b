"""``morph cache``: what morph has compiled and keeps, and its removal."""

from __future__ import annotations

import argparse
import json
import pathlib
import shutil

from morph.base.display import columns, console

EXAMPLE = "cache clean"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command line."""
    help = "remove what this environment's torch and morph do not use: old builds, and what killed ones left"
    parser.add_argument("action", nargs="?", choices=["clean"], help=help)
    parser.add_argument("--all", action="store_true", help="with clean: remove everything")
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def run(arguments: argparse.Namespace) -> int:
    """Show the folders or clean them, and return 0."""
    from morph.backends.autoload import import_torch

    import_torch()
    before = _sizes()
    if arguments.action == "clean":
        _clean(everything=arguments.all)
    _print(before, _sizes(), as_json=arguments.json)
    return 0


def _folders() -> list[pathlib.Path]:
    """Return the folders that are there, and that nobody else can change."""
    from morph.base import private

    user, *others = [*private.folders("native"), *private.folders("programs")]
    return [*filter(private.is_private, [user, user.parent / "wheels", *others])]


def _sizes() -> dict[str, int]:
    """Return the bytes in each folder that exists."""
    return {str(folder): sum(map(_size, folder.rglob("*"))) for folder in _folders()}


def _size(path: pathlib.Path) -> int:
    try:
        status = path.lstat()
    except OSError:  # another process has removed it
        return 0
    return status.st_size if path.is_file() and not path.is_symlink() else 0


def _clean(*, everything: bool) -> None:
    from morph.base import private
    from morph.base.native import building, cache

    for folder in filter(private.is_private, cache.folders()):
        with building.alone(folder):
            for path in [*folder.iterdir(), *folder.glob("shared/*")]:
                if everything or path.name not in _used():
                    _remove(path)
    if everything:
        for folder in _folders():
            shutil.rmtree(folder, ignore_errors=True)


def _used() -> set[str]:
    """Return the names in a folder of libraries that this environment's torch and morph use."""
    from morph.activation import building
    from morph.backends.tables import table
    from morph.base import native

    found = {"shared", "build.lock", "background.lock", native.part("boxed_device").place.name}
    for backend in table.backend_names():
        for library in building.libraries(table.facts(backend)):
            found |= {*library.place.parts, library.place.name + ".digest"}
    return found


def _remove(path: pathlib.Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _print(before: dict[str, int], after: dict[str, int], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps({"folders": after, "removed": sum(before.values()) - sum(after.values())}, indent=1))
        return
    table = columns("MiB", "folder")
    for folder, size in after.items():
        table.add_row(_mebibytes(size), folder)
    console().print(table if after else "there is no cache yet")
    if (removed := sum(before.values()) - sum(after.values())) > 0:
        print(f"{_mebibytes(removed)} MiB removed")


def _mebibytes(size: int) -> str:
    return f"{size / (1 << 20):.1f}"
