"""CUDA's shared libraries for programs that load them themselves: libcudart, libcuda, NCCL, NVML and NVTX."""

from __future__ import annotations

from morph.backends import Backend
from morph.base.journal import Journal
from morph.finders.finder import on_import
from morph.kernels.libraries import numbers
from morph.kernels.libraries.interception import STEMS, Interception
from morph.kernels.libraries.loading import FLAGS, described, every

__all__ = ["FLAGS", "STEMS", "described", "every", "install", "numbers"]


def install(backend: Backend, journal: Journal) -> None:
    """Serve CUDA's libraries to ``ctypes`` from now on; each is built and loaded at its first use.

    Args:
        backend: The backend that they serve.
        journal: Records every change.
    """
    Interception(backend).install(journal)
    if backend.table.facts.software:  # once cupy is there: its parts are imported after this one
        on_import("cupy_backends", lambda module: _serve_cupy(journal), journal, "cupy's compiled modules")


def _serve_cupy(journal: Journal) -> None:
    from morph.kernels.libraries import cupy, redirection

    redirection.install(journal)
    cupy.install(journal)
