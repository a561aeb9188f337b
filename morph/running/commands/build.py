"""``morph build``: compile morph's C++ parts ahead of the first start, for an image or a cache of CI."""

from __future__ import annotations

import argparse

EXAMPLE = "build"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command line."""
    parser.add_argument(
        "--backend", metavar="NAME", default="cpu", help="the backend that programs will run on (cpu)"
    )
    parser.add_argument("--all", action="store_true", help="build what programs load on any backend")
    parser.epilog = (
        "Everything is compiled that a start and its programs load, kernels in Triton and CUDA C++ apart."
    )


def run(arguments: argparse.Namespace) -> int:
    """Compile what is missing, show where all is kept, and return 0.

    Raises:
        MorphError: If no such backend is known, or something cannot be built.
    """
    from morph.backends.autoload import import_torch

    import_torch()
    from morph.activation import building
    from morph.backends.tables import table
    from morph.base import native
    from morph.base.native import cache

    names = table.backend_names() if arguments.all else [arguments.backend]
    every = [library for name in names for library in building.libraries(table.facts(name))]
    wanted = {library.place: library for library in every}
    native.build(wanted.values())
    print(f"{len(wanted)} libraries are built, in {cache.folders()[0]}")
    return 0
