"""CUDA extensions on a vendor's device, which runs no CUDA C++: refused where one is asked for."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from morph.base.errors import MorphError
from morph.base.native import BuildError
from morph.kernels.extensions import toolkit

if TYPE_CHECKING:
    from morph.backends.tables.table import Facts
    from morph.base.journal import Journal

_WAYS_OUT = {
    "npu": "write the operator in Ascend C, or as a Triton kernel with triton-ascend",
    "mlu": "write the operator in BANG C, or as a Triton kernel with Cambricon's triton",
    "musa": "port the sources with `python -m torch_musa.utils.simple_porting`, and build a MUSAExtension",
    "xpu": "write the operator in SYCL and build it with torch's SyclExtension, or as a Triton kernel",
}


class ExtensionError(MorphError, OSError):
    """A CUDA extension was asked for on a device that CUDA C++ cannot be compiled for."""

    def __init__(self, what: str, facts: Facts) -> None:
        super().__init__(f"{what} holds {_why_refused(facts)}")


def _why_refused(facts: Facts) -> str:
    way = _WAYS_OUT.get(facts.name, "write the operator in torch")
    return f"CUDA C++, which {facts.title}'s device does not run: {way}"


def refuse(module: Any, facts: Facts, journal: Journal) -> None:
    """Refuse what only builds for CUDA, when it is called; extensions in plain C++ are built as ever.

    ``CUDA_HOME`` has a compiler that says its release, which programs ask for at start, and compiles nothing.

    Args:
        module: ``torch.utils.cpp_extension``.
        facts: What is known of the backend.
        journal: Records every change.
    """
    with contextlib.suppress(BuildError):  # there is no folder to keep it in, and CUDA_HOME stays None
        journal.set_attribute(module, "CUDA_HOME", str(toolkit.assemble(_why_refused(facts)).home))
    journal.set_attribute(module, "CUDAExtension", _refusing_extension(module.CUDAExtension, facts))
    journal.set_attribute(module, "load", _refusing_load(module.load, facts))
    journal.set_attribute(module, "load_inline", _refusing_load_inline(module.load_inline, facts))


def _refusing_extension(torchs: Callable[..., Any], facts: Facts) -> Callable[..., Any]:
    def CUDAExtension(name: str, sources: Iterable[str], *args: Any, **kwargs: Any) -> Any:
        raise ExtensionError(f"CUDAExtension({name!r})", facts)

    CUDAExtension.__doc__ = torchs.__doc__
    return CUDAExtension


def _refusing_load(torchs: Callable[..., Any], facts: Facts) -> Callable[..., Any]:
    def load(name: str, sources: str | list[str], *args: Any, **kwargs: Any) -> Any:
        files = [sources] if isinstance(sources, str) else sources
        if kwargs.get("with_cuda") or any(os.path.splitext(file)[1] in (".cu", ".cuh") for file in files):
            raise ExtensionError(f"load({name!r})", facts)
        return torchs(name, sources, *args, **kwargs)

    load.__doc__ = torchs.__doc__
    return load


def _refusing_load_inline(torchs: Callable[..., Any], facts: Facts) -> Callable[..., Any]:
    def load_inline(name: str, cpp_sources: Any, cuda_sources: Any = None, *args: Any, **kwargs: Any) -> Any:
        if cuda_sources or kwargs.get("with_cuda"):
            raise ExtensionError(f"load_inline({name!r})", facts)
        return torchs(name, cpp_sources, cuda_sources, *args, **kwargs)

    load_inline.__doc__ = torchs.__doc__
    return load_inline
