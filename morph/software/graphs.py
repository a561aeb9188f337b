"""Graphs of the simulated device: each replay runs the captured work again, in the same memory."""

from __future__ import annotations

import gc
import importlib
import importlib.util
import pathlib
import warnings
import weakref
from types import FunctionType, SimpleNamespace
from typing import Any, ClassVar

import torch

from morph.software import devices, generators, memory, pools, streams
from morph.software.capture import Capture
from morph.software.compilation import interruption
from morph.software.machine import Machine, started
from morph.software.steps import Step, replay

MODES = ("global", "thread_local", "relaxed")  # as CaptureMode numbers them
EMPTY = (
    "The {} Graph is empty. This usually means that the graph was attempted to be captured on "
    "wrong device or stream."
)


made: weakref.WeakSet[Graph] = weakref.WeakSet()


def values(machine: Machine) -> dict[str, Any]:
    """Return the vendor's name of the class of graphs: ``NPUGraph``."""
    return {f"{machine.quirks.title}Graph": Graph}


def graph_pool_handle() -> pools.Id:
    """Return a token for a pool of memory that graphs share."""
    return pools.new_id()


def is_current_stream_capturing() -> bool:
    """Return whether a graph is being captured on this thread's current stream."""
    return bool(started().native.is_current_stream_captured())


class Graph:
    """Work of the device that was captured on one stream."""

    _mode = 0  # of MODES

    def __init__(self) -> None:
        made.add(self)
        self._capture: Capture | None = None
        self._steps: list[Step] | None = None
        self._pool: pools.Id | None = None
        self._device = -1
        self._is_debugged = False
        self._generators: list[torch.Generator] = []

    def capture_begin(self, pool: pools.Id | None = None, capture_error_mode: str = "global") -> None:
        """Begin to capture the work of this thread's current stream, which may not be the default one."""
        title = started().quirks.title
        if capture_error_mode not in MODES:
            names = "`global`, `thread_local`, or `relaxed`"
            raise RuntimeError(f"Unknown capture error mode. Expected {names}, got {capture_error_mode}")
        if self._steps is not None:
            raise RuntimeError(
                f"This {title}Graph instance already owns a captured graph. "
                "To capture a new graph, create a new instance."
            )
        if started().native.is_capturing():
            raise RuntimeError(f"{title} error: a capture is already underway in this thread")
        if torch.accelerator.current_stream().stream_id == 0:
            after = "(However, after capture, it's ok to replay them on the default stream.)"
            raise RuntimeError(f"{title} graphs must be captured on a non-default stream. {after}")
        self._mode, self._stream = MODES.index(capture_error_mode), torch.accelerator.current_stream()
        self._begin(pool if pool and any(pool) else pools.new_id_of_graph())

    def capture_end(self) -> None:
        """End the capture, which has computed nothing."""
        if self._capture is None:
            raise RuntimeError("capture_end() was called without capture_begin()")
        if torch.accelerator.current_stream() != self._stream:
            raise RuntimeError("Capture must end on the same stream it began on.")
        self._end()

    def replay(self) -> None:
        """Run the captured work again on the current contents of its inputs."""
        steps, native = self._captured("replay"), started().native
        began = native.begin_replay()
        try:
            replay(steps)
        finally:
            native.end_replay(began)

    def reset(self) -> None:
        """Forget what was captured, and release the pool."""
        self._steps = self._capture = self._pool = None
        self._generators.clear()
        self._finish()

    def pool(self) -> pools.Id:
        """Return the token of the pool that the graph's memory is from."""
        if self._pool is None:
            self._captured("pool()")
        assert self._pool is not None
        return self._pool

    def register_generator_state(self, generator: torch.Generator) -> None:
        """Take a generator; every replay draws anew from the state that it has now."""
        self._generators.append(generator.graphsafe_get_state())

    def enable_debug_mode(self) -> None:
        """Allow ``debug_dump`` to write."""
        self._is_debugged = True

    def debug_dump(self, debug_path: str) -> None:
        """Write the graph's nodes in Graphviz's language."""
        if not self._is_debugged:
            title = started().quirks.title
            message = f"{title} Graphs debug not enabled, set with [graph].enable_debug_mode()"
            warnings.warn(message, stacklevel=2)
            return
        operations = (step.operation for step in self._captured("debug_dump"))
        names = (f'  n{place} [label="{operation}"];' for place, operation in enumerate(operations))
        text = "\n".join(["digraph graph_1 {", *names, "}", ""])
        pathlib.Path(debug_path).write_text(text, encoding="utf-8")

    def _captured(self, asked: str) -> list[Step]:
        if self._steps is None:
            title = started().quirks.title
            raise RuntimeError(f"Called {title}Graph::{asked} without a preceding successful capture.")
        return self._steps

    def _finish(self) -> None:
        """Release the pool; the program's end does so too."""

    def _begin(self, pool: pools.Id) -> None:
        self._hold(pool)
        self._before = pools.Contents(self._device, pool)
        defaults = generators.of_all_devices()
        self._capture = Capture(pool, [*defaults, *self._generators])
        started().native.begin_capture(self._mode)
        interruption.of_captures.begin()
        self._capture.__enter__()  # type: ignore[no-untyped-call]

    def _end(self) -> None:
        assert self._capture is not None
        capture, self._capture = self._capture, None
        try:
            started().native.end_capture()
        finally:
            capture.__exit__(None, None, None)  # type: ignore[no-untyped-call]
            interruption.of_captures.end()
            started().native.end_pool(self._device, self._pool)
            capture.finish()
            # what could not be foreseen ran, maybe in the memory of what the program gave up in the capture
            self._before.put_back()
            del self._before
        self._steps = capture.steps
        if not capture.steps:
            warnings.warn(EMPTY.format(started().quirks.title), stacklevel=5)

    def _hold(self, pool: pools.Id) -> None:
        native, self._device, self._pool = started().native, devices.current_device(), pool
        native.begin_pool(self._device, pool, native.Reach.CAPTURE)
        self._finish = weakref.finalize(  # type: ignore[method-assign]
            self, native.let_go_of_pool, self._device, pool
        )


class graph:
    """Captures the work of a ``with`` block into a graph."""

    default_capture_stream: ClassVar[streams.Stream | None] = None

    def __init__(
        self,
        graph: Any,
        pool: pools.Id | None = None,
        stream: streams.Stream | None = None,
        capture_error_mode: str = "global",
    ) -> None:
        if type(self).default_capture_stream is None:
            type(self).default_capture_stream = streams.Stream()
        self.pool = () if pool is None else (pool,)
        self.capture_stream = type(self).default_capture_stream if stream is None else stream
        self.stream_ctx = streams.stream(self.capture_stream)
        self.capture_error_mode = capture_error_mode
        self._graph = graph

    def __enter__(self) -> None:
        devices.synchronize()
        gc.collect()
        memory.empty_cache()
        self.stream_ctx.__enter__()
        self._graph.capture_begin(*self.pool, capture_error_mode=self.capture_error_mode)

    def __exit__(self, *exception: object) -> None:
        try:
            self._graph.capture_end()
        finally:
            self.stream_ctx.__exit__(*exception)


class _Torch:
    """torch with the simulated device as its ``torch.xpu``, or as the ``torch.cuda`` of older releases."""

    xpu = cuda = SimpleNamespace(
        XPUGraph=Graph,
        CUDAGraph=Graph,
        Stream=streams.Stream,
        graph=graph,
        stream=streams.stream,
        synchronize=devices.synchronize,
    )

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)


def _on_the_device(function: Any) -> Any:
    """Return torch's own function, which the vendors copied, for the simulated device."""
    scope = {**function.__globals__, "torch": _Torch(), "graph_pool_handle": graph_pool_handle}
    copy = FunctionType(function.__code__, scope, function.__name__, function.__defaults__)
    copy.__doc__ = function.__doc__
    return copy


# XPU has graphs from torch 2.12 on; they were made after CUDA's
_graphs = "torch.xpu.graphs" if importlib.util.find_spec("torch.xpu.graphs") else "torch.cuda.graphs"
make_graphed_callables = _on_the_device(importlib.import_module(_graphs).make_graphed_callables)
make_graphed_callables.__module__ = __name__
