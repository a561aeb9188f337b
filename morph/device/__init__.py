"""CUDA's words in torch's Python code, where a device is text that the seam does not see.

Each part has ``install(words, journal)``: ``words`` is what CUDA's words become, and whether the activation
lasts; ``journal`` records every rebinding.
"""

from __future__ import annotations

from morph.backends import Backend
from morph.base.journal import Journal
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
    results,
    serialization,
    storage,
)
from morph.device.words import Words
from morph.finders.torch_cuda.views import Views


def install(backend: Backend, views: Views, journal: Journal) -> None:
    """Make CUDA's words mean ``backend``'s device throughout torch, also in modules imported later.

    Args:
        backend: The active backend; its package is imported and the seam is engaged.
        views: Decides which callers of a predicate see CUDA.
        journal: Records every rebinding.
    """
    words = Words(backend, views)
    parts = (
        parameters,
        results,
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
        with journal.tolerating(part.__name__):
            part.install(words, journal)
