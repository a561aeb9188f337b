"""Kernels written for CUDA, without CUDA: Triton, C++ extensions, and CUDA's runtime libraries."""

from __future__ import annotations

from morph.backends import Backend
from morph.journal import Journal
from morph.kernels import triton


def install(backend: Backend, journal: Journal) -> None:
    """Make what launches CUDA kernels find the backend's device.

    Args:
        backend: The backend that serves CUDA's names.
        journal: Records every change.
    """
    triton.install(backend, journal)
