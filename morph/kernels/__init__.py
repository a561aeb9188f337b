"""Kernels written for CUDA, without CUDA: Triton, C++ extensions, and CUDA's runtime libraries."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from morph.backends import Backend
    from morph.base.journal import Journal


def install(backend: Backend, journal: Journal) -> None:
    """Make what launches CUDA kernels find the backend's device.

    Args:
        backend: The backend that serves CUDA's names.
        journal: Records every change.
    """
    from morph.kernels import bitsandbytes, extensions, libraries, nvidia_smi, refusals, triton

    extensions.install(backend, journal)
    libraries.install(backend, journal)
    nvidia_smi.install(backend, journal)
    refusals.install(backend, journal)
    triton.install(backend, journal)
    bitsandbytes.install(backend, journal)
