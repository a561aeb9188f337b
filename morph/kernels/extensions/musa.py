"""CUDA extensions on Moore Threads' device: ported, and built by torch_musa."""

from __future__ import annotations

import importlib
import importlib.util
import os
import pathlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from morph.kernels.extensions import options, porting
from morph.kernels.extensions.porting import Dialect

if TYPE_CHECKING:
    from morph.base.journal import Journal

BUILDER = "torch_musa.utils.musa_extension"


def is_available() -> bool:
    """Return whether torch_musa has its builder of extensions."""
    try:
        return importlib.util.find_spec(BUILDER) is not None
    except ModuleNotFoundError:
        return False


def place(module: Any, journal: Journal) -> None:
    """Make ``CUDAExtension`` and ``BuildExtension`` those of torch_musa, of ported sources.

    Args:
        module: ``torch.utils.cpp_extension``.
        journal: Records every change.
    """
    builder = importlib.import_module(BUILDER)

    def CUDAExtension(name: str, sources: Sequence[str], *args: Any, **kwargs: Any) -> Any:
        return builder.MUSAExtension(name, *args, **ported(name, sources, kwargs))

    CUDAExtension.__doc__ = module.CUDAExtension.__doc__
    journal.set_attribute(module, "CUDAExtension", CUDAExtension)
    journal.set_attribute(module, "BuildExtension", builder.BuildExtension)


def ported(name: str, sources: Sequence[str], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Port an extension into ``build/musa``.

    Args:
        name: Its name.
        sources: What ``CUDAExtension`` was called with.
        arguments: The other arguments, by name.

    Returns:
        The arguments for ``MUSAExtension``, sources included.

    Raises:
        PortingError: If a source holds what MUSA C++ does not have.
    """
    dialect = porting.dialect("musa")
    folder = pathlib.Path("build", "musa", name).absolute()
    includes = [os.path.abspath(each) for each in arguments.get("include_dirs") or ()]
    written = porting.port_files(sources, includes, folder, dialect)
    return {
        **arguments,
        "sources": [written[os.path.abspath(each)] for each in sources],
        "include_dirs": [written.get(each, each) for each in includes],
        "extra_compile_args": _flags(arguments.get("extra_compile_args") or {}, dialect),
    }


def _flags(given: Mapping[str, list[str]] | Sequence[str], dialect: Dialect) -> dict[str, list[str]]:
    by_compiler = given if isinstance(given, Mapping) else {"cxx": list(given), "nvcc": list(given)}
    flags = options.parse(by_compiler.get("nvcc", ()))
    words = [_defined(word, dialect) for word in flags.preprocessor]
    words += [word for word in flags.compiler if word not in words]
    return {"cxx": list(by_compiler.get("cxx", ())), dialect.flags: words}


def _defined(word: str, dialect: Dialect) -> str:
    """Return an option with the name of a macro, ``-DNAME=1``, in the dialect."""
    kind, rest = word[:2], word[2:]
    name, equals, value = rest.partition("=")
    return kind + dialect.name(name) + equals + value if kind in ("-D", "-U") else word
