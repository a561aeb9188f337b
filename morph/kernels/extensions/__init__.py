"""CUDA C++ extensions: ``torch.utils.cpp_extension`` builds them for the software device."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from morph.backends import Backend
    from morph.base import native
    from morph.base.journal import Journal
    from morph.kernels.extensions.image import Image as Image
    from morph.kernels.extensions.image import ImageError as ImageError
    from morph.kernels.extensions.loading import Kernel as Kernel
    from morph.kernels.extensions.loading import Module as Module
    from morph.kernels.extensions.loading import load as load
    from morph.kernels.extensions.loading import runtime as runtime
    from morph.kernels.extensions.modules import CompilationError as CompilationError
    from morph.kernels.extensions.modules import Program as Program
    from morph.kernels.extensions.modules import build as build
    from morph.kernels.extensions.modules import toolkit_name as toolkit_name
    from morph.kernels.extensions.refusals import Refused

# modules of kernels that are compiled at run time; most processes need none
_LAZY = {
    "image": {"Image", "ImageError"},
    "loading": {"Kernel", "Module", "load", "runtime"},
    "modules": {"CompilationError", "Program", "build", "toolkit_name"},
}


def __getattr__(name: str) -> Any:
    for module, names in _LAZY.items():
        if name in names:
            return getattr(importlib.import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def install(backend: Backend, journal: Journal) -> None:
    """Make ``torch.utils.cpp_extension`` build for the backend's device, once it is imported.

    Args:
        backend: The backend that serves CUDA's names.
        journal: Records every change.
    """
    from morph.finders.finder import on_import

    facts = backend.table.facts

    def place(module: object) -> None:
        from morph.kernels.extensions import building

        building.place(module, facts, journal)

    on_import("torch.utils.cpp_extension", place, journal)
    if facts.software:
        import torch

        journal.set_attribute(torch._C, "_cuda_jiterator_compile_and_launch_kernel", _compile_and_launch)


def _compile_and_launch(*arguments: Any) -> Any:
    from morph.kernels.extensions import jiterator

    return jiterator.compile_and_launch(*arguments)


def library() -> native.Library:
    """Return the CUDA runtime that extensions are linked with."""
    from morph.kernels.extensions import toolkit

    return toolkit.assemble().library()


def run_program(path: str, words: Sequence[str]) -> NoReturn:
    """Run a program that morph's ``nvcc`` has linked to its end, and this process's.

    Args:
        path: Its file.
        words: Its arguments, its own name first.

    Raises:
        SystemExit: With status 2, if morph's ``nvcc`` did not link it, or that of another morph or torch did.
    """
    from morph.kernels.extensions import programs

    programs.run(path, words)


def refused_features() -> Mapping[str, str]:
    """Return what a CUDA source may not hold, by name, and what to do instead."""
    from morph.kernels.extensions import headers, refusals

    ways = refusals.FEATURES.items()
    return {
        **{name: f"the software device does not run it; {way}" for name, way in ways},
        **headers.features(),
    }


def refused_libraries() -> Mapping[str, str]:
    """Return the libraries whose headers a CUDA source may not include, and what to use instead."""
    from morph.kernels.extensions import headers

    return headers.libraries()


def refused_header(name: str) -> str | None:
    """Return what an included header belongs to, one of these features or libraries; None if it is served."""
    from morph.kernels.extensions import headers

    return headers.refused(name)


def refused(code: str, first_branches: str) -> Iterator[Refused]:
    """Yield what a CUDA source holds that the software device does not run.

    Args:
        code: The source without comments and directives.
        first_branches: It with one branch of each ``#if`` only, so that its braces are balanced.
    """
    from morph.kernels.extensions import refusals
    from morph.kernels.extensions.source import Source

    yield from refusals.features(Source(code), is_preprocessed=False)
    yield from refusals.nested_launches(Source(first_branches))


def translated_assembly(code: str) -> Iterator[tuple[int, int]]:
    """Yield where the inline PTX stands that the software device runs, and that other devices do not.

    Args:
        code: A source without comments and directives.
    """
    from morph.kernels.extensions import assembly
    from morph.kernels.extensions.source import Source

    yield from assembly.translated(Source(code))
