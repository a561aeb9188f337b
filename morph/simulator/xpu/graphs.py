"""Graphs: a capture records the operations of a thread, and a replay runs them again in the same memory."""

from __future__ import annotations

import threading
import warnings
import weakref
from typing import Any, NoReturn

import torch

from morph.aliases.torch_cuda.capture import Capture, Step, replay
from morph.simulator import devices, generators
from morph.simulator.machine import NotSimulatedError, started
from morph.simulator.xpu import pools


class _Capturing(threading.local):
    stream: torch.Stream | None = None


_capturing = _Capturing()


def is_capturing() -> bool:
    """Answers ``torch._C._xpu_isCurrentStreamCapturing``."""
    return _capturing.stream is not None and _capturing.stream == torch.accelerator.current_stream()


class Graph:
    """``torch._C._XPUGraph``: operations that were captured, to be replayed into the same tensors.

    Args:
        keep_graph: Whether ``instantiate`` is left to the program.
    """

    def __new__(cls, keep_graph: bool = False) -> Graph:
        """Takes what ``__init__`` takes, which torch.xpu hands on."""
        return super().__new__(cls)

    def __init__(self, keep_graph: bool = False) -> None:
        self._keeps = keep_graph
        self._capture: Capture | None = None
        self._steps: list[Step] | None = None
        self._pool: pools.PoolId | None = None
        self._index = -1
        self._instantiated = False

    def capture_begin(self, pool: pools.PoolId | None = None) -> None:
        """Begins to capture the work of this thread's current stream."""
        if self._instantiated:
            raise RuntimeError(
                "This XPUGraph instance already owns a captured graph. To capture a new graph, create a new "
                "instance."
            )
        if _capturing.stream is not None:
            raise RuntimeError("a capture is already underway in this thread")
        self._index, self._pool = devices.current_device(), pool or pools.new_id()
        pools.begin_in_thread(self._index, self._pool)
        weakref.finalize(self, started().native.let_go_of_pool, self._index, self._pool)
        states = generators.get_rng_state_all, generators.set_rng_state_all
        self._capture = Capture(started().device_type, started().character.title, *states)
        _capturing.stream = torch.accelerator.current_stream()
        self._capture.__enter__()  # type: ignore[no-untyped-call]

    def capture_end(self) -> None:
        """Ends the capture, which has computed nothing."""
        if self._capture is None or not is_capturing():
            raise RuntimeError("Capture must end on the same stream it began on.")
        capture, self._capture, _capturing.stream = self._capture, None, None
        capture.__exit__(None, None, None)  # type: ignore[no-untyped-call]
        capture.finish()
        started().native.end_pool(self._index, self._pool)
        self._steps, self._instantiated = capture.steps, not self._keeps
        if not capture.steps:
            warnings.warn(
                "The XPU Graph is empty. This usually means that the graph was attempted to be captured on "
                "wrong device or stream.",
                stacklevel=3,
            )

    def instantiate(self) -> None:
        """Makes a graph that is kept ready for its replay."""
        if self._steps is None:
            raise RuntimeError("capture_end() must have been called before calling instantiate")
        if not self._keeps:
            raise RuntimeError("instantiate() is intended to be called by the user only when keep_graph=true")
        self._instantiated = True

    def replay(self) -> None:
        """Runs the captured work again, on what its inputs hold now."""
        if self._steps is None:
            raise RuntimeError("Called XPUGraph::replay without a preceding successful capture.")
        self._instantiated = True
        replay(self._steps)

    def reset(self) -> None:
        """Forgets what was captured."""
        self._steps, self._instantiated = None, False

    def pool(self) -> pools.PoolId:
        """Returns the token of the pool that the graph's memory is from."""
        if self._steps is None or self._pool is None:
            raise RuntimeError("Called XPUGraph::pool() without a preceding successful capture.")
        return self._pool

    def enable_debug_mode(self) -> None:
        """Allows ``debug_dump``, which is refused all the same."""

    def register_generator_state(self, generator: Any) -> None:
        """Takes a generator; every replay draws anew from each."""

    def debug_dump(self, debug_path: str) -> NoReturn:
        """Always refused: there is no graph of SYCL's to write."""
        raise NotSimulatedError("torch.xpu.XPUGraph.debug_dump")

    def raw_xpu_graph(self) -> NoReturn:
        """Always refused: there is no graph of SYCL's."""
        raise NotSimulatedError("torch.xpu.XPUGraph.raw_xpu_graph")

    def raw_xpu_graph_exec(self) -> NoReturn:
        """Always refused: there is no graph of SYCL's."""
        raise NotSimulatedError("torch.xpu.XPUGraph.raw_xpu_graph_exec")


Graph.__name__ = Graph.__qualname__ = "_XPUGraph"
Graph.__module__ = "torch._C"
