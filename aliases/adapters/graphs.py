"""Graphs: CUDA's parameters for the vendor's classes, which order and name them differently."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, ClassVar

from morph.backends import vendor_module
from morph.backends.refusal import lacks

CUDA_MODE = "global"
_NO_LIVENESS = "its graphs do not check their inputs; keep a reference to each tensor the graph reads"
_NO_ANNOTATIONS = "the annotations are those of CUDA's graph nodes"


class graph:
    """Captures the operations of a ``with`` block into a graph.

    Args:
        cuda_graph: The graph.
        pool: The memory pool, from ``graph_pool_handle()`` or another graph's ``pool()``.
        stream: The stream to capture on; None is the class's own.
        capture_error_mode: ``"global"``, ``"thread_local"`` or ``"relaxed"``.
        enable_annotations: Refused if true.
        check_input_liveness: Refused if true.
    """

    default_capture_stream: ClassVar[Any] = None

    def __init__(
        self,
        cuda_graph: Any,
        pool: Any = None,
        stream: Any = None,
        capture_error_mode: str = "global",
        enable_annotations: bool = False,
        check_input_liveness: bool = False,
    ) -> None:
        if enable_annotations:
            raise lacks("torch.cuda.graph(enable_annotations=True)", _NO_ANNOTATIONS)
        refuse_liveness(check_input_liveness)
        self.cuda_graph = cuda_graph
        self.capture_error_mode = capture_error_mode
        chosen = type(self).default_capture_stream if stream is None else stream
        self._capture = _capture(cuda_graph, pool, chosen, capture_error_mode)
        if stream is None:
            type(self).default_capture_stream = self._capture.capture_stream

    def __enter__(self) -> None:
        self._capture.__enter__()

    def __exit__(self, *exception: Any) -> None:
        self._capture.__exit__(*exception)

    def __getattr__(self, name: str) -> Any:
        if name == "_capture":
            raise AttributeError(name)
        return getattr(self._capture, name)


graph.__module__ = "torch.cuda.graphs"


def new_graph(target: Callable[[type], Any], cls: type, keep_graph: bool = False) -> Any:
    """Create a ``torch.cuda.CUDAGraph``; ``keep_graph`` only matters for access to the raw graph."""
    return target(cls)


def initialise_graph(target: Callable[[Any], None], graph: Any, keep_graph: bool = False) -> None:
    """Initialise a ``torch.cuda.CUDAGraph``, with the parameters of its ``__new__``."""
    target(graph)


def capture_begin(
    target: Callable[..., None],
    graph: Any,
    pool: Any = None,
    capture_error_mode: str | None = None,
    check_input_liveness: bool = False,
) -> None:
    """Implement ``CUDAGraph.capture_begin``.

    Args:
        target: The vendor's function.
        graph: The graph.
        pool: The memory pool, from ``graph_pool_handle()`` or another graph's ``pool()``.
        capture_error_mode: Which calls are errors; None is the vendor's default.
        check_input_liveness: Refused if true.
    """
    refuse_liveness(check_input_liveness)
    mode = {} if capture_error_mode is None else {"capture_error_mode": capture_error_mode}
    target(graph, pool=pool, **mode)


def instantiate(graph: Any) -> None:
    """Do nothing: the vendor instantiates the graph at the end of the capture, kept or not."""


def make_graphed_callables(
    target: Callable[..., Any],
    callables: Any,
    sample_args: Any,
    num_warmup_iters: int = 3,
    allow_unused_input: bool = False,
    pool: Any = None,
) -> Any:
    """Implement ``torch.cuda.make_graphed_callables``.

    Args:
        target: The vendor's function, which takes the arguments up to ``allow_unused_input``.
        callables: Functions or modules to capture.
        sample_args: Their arguments for the capture.
        num_warmup_iters: How often each runs before its capture.
        allow_unused_input: Whether inputs may be left unused.
        pool: A hint that memory may be shared with other graphs.

    Returns:
        The callables that replay the captures.
    """
    return target(callables, sample_args, num_warmup_iters, allow_unused_input)


def _capture(cuda_graph: Any, pool: Any, stream: Any, mode: str) -> Any:
    vendor = vendor_module().graph
    if "capture_error_mode" in inspect.signature(vendor).parameters:
        given = {} if mode == CUDA_MODE else {"capture_error_mode": mode}  # else the vendor's default
        return vendor(cuda_graph, pool, stream, **given)
    return vendor(cuda_graph, pool, stream)  # a mode only decides which calls of other threads CUDA refuses


def refuse_liveness(asked: bool) -> None:
    """Raise if a program requests the liveness check of a graph's inputs."""
    if asked:
        raise lacks("check_input_liveness=True of a graph's capture", _NO_LIVENESS)
