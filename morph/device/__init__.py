"""What the seam leaves: CUDA's words where torch's Python code carries a device as text."""

from __future__ import annotations

from morph.backends import Backend
from morph.device import (
    amp,
    distributed,
    dynamo,
    exhaustion,
    library,
    modules,
    parallel,
    parameters,
    profiler,
    serialization,
    storage,
)
from morph.device.words import Words
from morph.finders.torch_cuda.views import Views
from morph.journal import Journal


def install(backend: Backend, views: Views, journal: Journal) -> None:
    """Have CUDA's words mean ``backend``'s device throughout torch, also in what is imported later.

    Args:
        backend: The active backend; its package is imported and the seam is engaged.
        views: Who gets the CUDA view of a predicate, and who the truth.
        journal: Records every rebinding.
    """
    words = Words(backend, views)
    parts = (
        parameters,
        amp,
        storage,
        modules,
        serialization,
        library,
        profiler,
        distributed,
        parallel,
        dynamo,
        exhaustion,
    )
    for part in parts:
        part.install(words, journal)
