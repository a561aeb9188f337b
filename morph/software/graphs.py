"""Graphs of the simulated device: what is captured runs again, in the same memory, at every replay."""

from __future__ import annotations

import gc
import weakref
from types import FunctionType, SimpleNamespace
from typing import Any, ClassVar

import torch
import torch.xpu.graphs

from morph.aliases.torch_cuda.capture import Capture, Step, replay
from morph.software import devices, generators, memory, pools, streams
from morph.software.machine import Machine, started

MODES = ("global", "thread_local", "relaxed")


def values(machine: Machine) -> dict[str, Any]:
    """Gives the vendor's name of the class of graphs: ``NPUGraph``."""
    return {f"{machine.character.title}Graph": Graph}


def graph_pool_handle() -> pools.Id:
    """Returns a token for a pool of memory that graphs share."""
    return pools.new_id()


def is_current_stream_capturing() -> bool:
    """Tells whether a graph is being captured on this thread's current stream."""
    return streams.is_captured(torch.accelerator.current_stream())


class Graph:
    """Work of the device that was captured on one stream."""

    def __init__(self) -> None:
        self._capture: Capture | None = None
        self._steps: list[Step] | None = None
        self._pool: pools.Id | None = None
        self._device = -1

    def capture_begin(self, pool: pools.Id | None = None, capture_error_mode: str = "global") -> None:
        """Begins to capture the work of this thread's current stream, which may not be the default one."""
        title = started().character.title
        if capture_error_mode not in MODES:
            names = "`global`, `thread_local`, or `relaxed`"
            raise RuntimeError(f"Unknown capture error mode. Expected {names}, got {capture_error_mode}")
        if streams.capturing.stream is not None:
            raise RuntimeError(f"{title} error: a capture is already underway in this thread")
        stream = torch.accelerator.current_stream()
        if stream.stream_id == 0:
            raise RuntimeError(f"{title} graphs must be captured on a non-default stream.")
        self._begin(stream, pool or pools.new_id())

    def capture_end(self) -> None:
        """Ends the capture, which has computed nothing."""
        if self._capture is None:
            raise RuntimeError("capture_end() was called without capture_begin()")
        self._end()

    def replay(self) -> None:
        """Runs the captured work again, on what its inputs hold now."""
        if self._steps is None:
            title = started().character.title
            raise RuntimeError(f"Called {title}Graph::replay without a preceding successful capture.")
        replay(self._steps)

    def reset(self) -> None:
        """Forgets what was captured."""
        self._steps = None

    def pool(self) -> pools.Id:
        """Returns the token of the pool that the graph's memory is from."""
        if self._pool is None:
            title = started().character.title
            raise RuntimeError(f"Called {title}Graph::pool() without a preceding successful capture.")
        return self._pool

    def register_generator_state(self, generator: torch.Generator) -> None:
        """Takes a generator; every replay draws anew from each."""

    def enable_debug_mode(self) -> None:
        """Changes nothing."""

    def _begin(self, stream: torch.Stream, pool: pools.Id) -> None:
        self._hold(pool)
        states = generators.get_rng_state_all, generators.set_rng_state_all
        self._capture = Capture(started().device_type, started().character.title, *states)
        streams.capturing.stream = stream
        self._capture.__enter__()  # type: ignore[no-untyped-call]

    def _end(self) -> None:
        assert self._capture is not None
        capture, self._capture, streams.capturing.stream = self._capture, None, None
        capture.__exit__(None, None, None)  # type: ignore[no-untyped-call]
        started().native.end_pool(self._device, self._pool)
        capture.finish()
        self._steps = capture.steps

    def _hold(self, pool: pools.Id) -> None:
        native, self._device, self._pool = started().native, devices.current_device(), pool
        native.begin_pool(self._device, pool, native.Reach.THREAD)
        weakref.finalize(self, native.let_go_of_pool, self._device, pool)


class KeptGraph(Graph):
    """A graph that is instantiated by itself, or by the program where it asks to keep it."""

    def __new__(cls, keep_graph: bool = False) -> KeptGraph:
        """Makes an empty graph."""
        made = super().__new__(cls)
        made._is_kept, made._is_ready = keep_graph, False
        return made

    _is_kept: bool
    _is_ready: bool

    def __init__(self, keep_graph: bool = False) -> None:
        super().__init__()

    def instantiate(self) -> None:
        """Makes the graph ready for its replay."""
        if self._steps is None:
            title = started().character.title
            raise RuntimeError(f"Called {title}Graph::instantiate without a preceding successful capture.")
        self._is_ready = True

    def replay(self) -> None:
        """Runs the captured work again, on what its inputs hold now."""
        super().replay()
        self._is_ready = True


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
    """torch, but for ``torch.xpu``, which is the simulated device."""

    xpu = SimpleNamespace(
        XPUGraph=Graph,
        Stream=streams.Stream,
        graph=graph,
        stream=streams.stream,
        synchronize=devices.synchronize,
    )

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)


def _on_the_device(function: Any) -> Any:
    """Gives torch's own function, which the vendors copied, with the simulated device in place of its own."""
    scope = {**function.__globals__, "torch": _Torch(), "graph_pool_handle": graph_pool_handle}
    copy = FunctionType(function.__code__, scope, function.__name__, function.__defaults__)
    copy.__doc__ = function.__doc__
    return copy


make_graphed_callables = _on_the_device(torch.xpu.graphs.make_graphed_callables)
make_graphed_callables.__module__ = __name__
