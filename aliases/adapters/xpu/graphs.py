"""Graphs on Intel GPUs, whose captures have one mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from morph.aliases.adapters.graphs import refuse_liveness


def capture_begin(
    target: Callable[..., None],
    graph: Any,
    pool: Any = None,
    capture_error_mode: str = "global",
    check_input_liveness: bool = False,
) -> None:
    """Implement ``CUDAGraph.capture_begin``; the mode only concerns calls of other threads on CUDA."""
    refuse_liveness(check_input_liveness)
    target(graph, pool)
