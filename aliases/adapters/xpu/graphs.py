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
    """Implement ``CUDAGraph.capture_begin``; on CUDA the mode only concerns calls from other threads."""
    refuse_liveness(check_input_liveness)
    target(graph, pool)
