"""CUDA graphs: a capture records the operations, and a replay runs them again in the same memory."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import FunctionType
from typing import Any

import torch
import torch.cuda.graphs

from morph.aliases.torch_cuda.capture import Capture, Step, replay
from morph.aliases.torch_cuda.cpu.device import torch_own
from morph.aliases.torch_cuda.cpu.pools import pool_id
from morph.aliases.torch_cuda.refusal import lacks

_capturing = threading.local()


def graph_pool_handle() -> tuple[int, int]:
    """Return a token for a pool of memory; graphs on the CPU share the process's heap."""
    return pool_id()


def is_current_stream_capturing() -> bool:
    """Tell whether this thread is capturing a graph."""
    return getattr(_capturing, "graph", None) is not None


class CUDAGraph:
    """Operations that were captured in one thread, to be replayed into the same tensors.

    Args:
        keep_graph: Without effect.
    """

    def __init__(self, keep_graph: bool = False) -> None:
        self._capture: Capture | None = None
        self._steps: list[Step] | None = None
        self._pool = graph_pool_handle()

    def capture_begin(
        self,
        pool: tuple[int, int] | None = None,
        capture_error_mode: str = "global",
        check_input_liveness: bool = False,
    ) -> None:
        """Begin to capture this thread's operations.

        Args:
            pool: What ``pool`` returns from now on.
            capture_error_mode: Without effect: there is only one way to capture.
            check_input_liveness: Without effect: the graph keeps its inputs alive.

        Raises:
            RuntimeError: If this thread is capturing already.
        """
        if is_current_stream_capturing():
            raise RuntimeError("CUDA error: a capture is already underway in this thread")
        self._pool = pool or self._pool
        self._capture = _capturing.graph = Capture()
        self._capture.__enter__()  # type: ignore[no-untyped-call]

    def capture_end(self) -> None:
        """End the capture; tensors from before it, and the generator, are what they were before it.

        Raises:
            RuntimeError: If this graph is not being captured.
        """
        if self._capture is None:
            raise RuntimeError("capture_end() was called without capture_begin()")
        capture, self._capture, _capturing.graph = self._capture, None, None
        capture.__exit__(None, None, None)  # type: ignore[no-untyped-call]
        capture.finish()
        self._steps = capture.steps

    def instantiate(self) -> None:
        """Check that there is something to replay.

        Raises:
            RuntimeError: If nothing was captured.
        """
        if self._steps is None:
            raise RuntimeError("Called CUDAGraph::instantiate without a preceding successful capture.")

    def replay(self) -> None:
        """Run the captured operations again, on what their inputs hold now.

        Raises:
            RuntimeError: If nothing was captured.
        """
        if self._steps is None:
            raise RuntimeError("Called CUDAGraph::replay without a preceding successful capture.")
        replay(self._steps)

    def reset(self) -> None:
        """Forget what was captured."""
        self._steps = None

    def pool(self) -> tuple[int, int]:
        """Return the token of the graph's pool."""
        return self._pool

    def __getattr__(self, name: str) -> Any:
        if hasattr(_own.CUDAGraph, name) and not name.startswith("__"):
            reason = "a graph of the CPU is a list of operations, no cudaGraph_t"
            raise lacks(f"torch.cuda.CUDAGraph.{name}", reason)
        raise AttributeError(f"'CUDAGraph' object has no attribute {name!r}")


_own = torch_own(torch.cuda.graphs)


class graph(_own.graph):  # type: ignore[misc, name-defined]
    """``torch.cuda.graph`` without what it first does to CUDA's allocators."""

    def __enter__(self) -> None:
        if self._enable_annotations:
            raise lacks("torch.cuda.graph(enable_annotations=True)", "they are those of CUDA's graph nodes")
        self.stream_ctx.__enter__()
        self.cuda_graph.capture_begin(*self.pool)


for _class in (CUDAGraph, graph):
    _class.__module__ = "torch.cuda.graphs"


def _over_cpu(function: Callable[..., Any], **replacements: object) -> Callable[..., Any]:
    """Return torch's own function with some of its module's globals replaced."""
    assert isinstance(function, FunctionType)
    scope = {**function.__globals__, **replacements}
    copy = FunctionType(function.__code__, scope, function.__name__, function.__defaults__)
    copy.__doc__ = function.__doc__
    copy.__annotations__ = function.__annotations__
    return copy


make_graphed_callables = _over_cpu(_own.make_graphed_callables, graph_pool_handle=graph_pool_handle)
