"""``morph toolkit``: the CUDA toolkit whose ``nvcc`` compiles programs for the software device."""

from __future__ import annotations

import argparse

EXAMPLE = "toolkit"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command line."""
    parser.epilog = (
        "After export CUDA_HOME=$(morph toolkit) PATH=$(morph toolkit)/bin:$PATH make, CMake and "
        "nvcc use it. The programs start by themselves."
    )


def run(arguments: argparse.Namespace) -> int:
    """Compile its library if need be, print its folder, and return 0.

    Raises:
        MorphError: If the library cannot be built.
    """
    from morph.backends.autoload import import_torch

    import_torch()
    from morph.base import native
    from morph.kernels import extensions

    print(native.provide(extensions.library()).parents[1])
    return 0
