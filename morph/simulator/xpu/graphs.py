"""Graphs: a capture records the operations of a thread, and a replay runs them again in the same memory."""

from __future__ import annotations

import threading
from typing import Any, NoReturn

from morph.aliases.torch_cuda.capture import Capture, Step, replay
from morph.simulator import devices, generators
from morph.simulator.machine import NotSimulatedError, started
from morph.simulator.xpu import pools

_capturing = threading.local()


def is_capturing() -> bool:
    """Tells whether this thread is capturing a graph."""
    return getattr(_capturing, "graph", None) is not None


class Graph:
    """``torch._C._XPUGraph``: operations that were captured, to be replayed into the same tensors.

    Args:
        keep_graph: Whether ``instantiate`` is left to the program.
    """

    def __new__(cls, keep_graph: bool = False) -> Graph:
        """Makes an empty graph."""
        made = super().__new__(cls)
        made._keeps, made._capture, made._steps, made._ready = keep_graph, None, None, False
        made._pool, made._index = pools.new_id(), 0
        return made

    _keeps: bool
    _ready: bool
    _capture: Capture | None
    _steps: list[Step] | None
    _pool: pools.PoolId
    _index: int

    def capture_begin(self, pool: pools.PoolId | None = None) -> None:
        """Begins to capture this thread's operations."""
        if is_capturing():
            raise RuntimeError("a capture is already underway in this thread")
        self._pool = pool or self._pool
        self._index = devices.current_device()
        pools.begin_in_thread(self._index, self._pool)
        states = generators.get_rng_state_all, generators.set_rng_state_all
        self._capture = _capturing.graph = Capture(started().device_type, "XPU", *states)
        self._capture.__enter__()  # type: ignore[no-untyped-call]

    def capture_end(self) -> None:
        """Ends the capture; what it changed outside of it is put back."""
        if self._capture is None:
            raise RuntimeError("capture_end() was called without capture_begin()")
        capture, self._capture, _capturing.graph = self._capture, None, None
        capture.__exit__(None, None, None)  # type: ignore[no-untyped-call]
        capture.finish()
        started().native.end_pool(self._index, self._pool)
        self._steps, self._ready = capture.steps, not self._keeps

    def instantiate(self) -> None:
        """Makes the graph ready for its replay."""
        self._require_capture("instantiate")
        self._ready = True

    def replay(self) -> None:
        """Runs the captured operations again, on what their inputs hold now."""
        replay(self._require_capture("replay"))
        self._ready = True

    def reset(self) -> None:
        """Forgets what was captured."""
        if self._steps is not None:
            started().native.let_go_of_pool(self._index, self._pool)
        self._steps, self._ready = None, False

    def pool(self) -> pools.PoolId:
        """Returns the token of the graph's pool."""
        return self._pool

    def enable_debug_mode(self) -> None:
        """Allows ``debug_dump``, which is refused all the same."""

    def register_generator_state(self, generator: Any) -> NoReturn:
        """Always refused."""
        raise NotSimulatedError("torch.xpu.XPUGraph.register_generator_state")

    def debug_dump(self, debug_path: str) -> NoReturn:
        """Always refused: there is no graph of SYCL's to write."""
        raise NotSimulatedError("torch.xpu.XPUGraph.debug_dump")

    def raw_xpu_graph(self) -> NoReturn:
        """Always refused: there is no graph of SYCL's."""
        raise NotSimulatedError("torch.xpu.XPUGraph.raw_xpu_graph")

    def raw_xpu_graph_exec(self) -> NoReturn:
        """Always refused: there is no graph of SYCL's."""
        raise NotSimulatedError("torch.xpu.XPUGraph.raw_xpu_graph_exec")

    def _require_capture(self, function: str) -> list[Step]:
        if self._steps is None:
            raise RuntimeError(f"Called XPUGraph::{function} without a preceding successful capture.")
        return self._steps


Graph.__name__ = Graph.__qualname__ = "_XPUGraph"
Graph.__module__ = "torch._C"
