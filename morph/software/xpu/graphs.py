"""Graphs: a capture records the operations of a thread, and a replay runs them again in the same memory."""

from __future__ import annotations

import warnings
from typing import NoReturn

from morph.software import graphs, pools
from morph.software.machine import NotSimulatedError, started


class Graph(graphs.Graph):
    """``torch._C._XPUGraph``: operations that were captured, to be replayed into the same tensors.

    Args:
        keep_graph: Whether ``instantiate`` is left to the program.
    """

    def __new__(cls, keep_graph: bool = False) -> Graph:
        """Accept the arguments of ``__init__``, which torch.xpu passes on."""
        return super().__new__(cls)

    def __init__(self, keep_graph: bool = False) -> None:
        super().__init__()
        self._keeps = keep_graph
        self._instantiated = False

    def capture_begin(self, pool: pools.Id | None = None) -> None:  # type: ignore[override]
        """Begin to capture the work of this thread's current stream, which may be the default one."""
        if self._instantiated:
            raise RuntimeError(
                "This XPUGraph instance already owns a captured graph. To capture a new graph, create a new "
                "instance."
            )
        if started().native.is_capturing():
            raise RuntimeError("a capture is already underway in this thread")
        self._begin(pool or pools.new_id_of_graph())

    def capture_end(self) -> None:
        """End the capture, which has computed nothing."""
        if self._capture is None or not graphs.is_current_stream_capturing():
            raise RuntimeError("Capture must end on the same stream it began on.")
        self._end()
        self._instantiated = not self._keeps
        if not self._steps:
            warnings.warn(
                "The XPU Graph is empty. This usually means that the graph was attempted to be captured on "
                "wrong device or stream.",
                stacklevel=3,
            )

    def instantiate(self) -> None:
        """Make a graph that is kept ready for its replay."""
        if self._steps is None:
            raise RuntimeError("capture_end() must have been called before calling instantiate")
        if not self._keeps:
            raise RuntimeError("instantiate() is intended to be called by the user only when keep_graph=true")
        self._instantiated = True

    def replay(self) -> None:
        """Run the captured work again on the current contents of its inputs."""
        super().replay()
        self._instantiated = True

    def reset(self) -> None:
        """Forget what was captured."""
        super().reset()
        self._instantiated = False

    def pool(self) -> pools.Id:
        """Return the token of the pool that the graph's memory is from, once it is captured."""
        if self._steps is None:
            raise RuntimeError("Called XPUGraph::pool() without a preceding successful capture.")
        return super().pool()

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
