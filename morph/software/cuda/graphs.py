"""The base of ``torch.cuda.CUDAGraph`` in a torch built for CUDA."""

from __future__ import annotations

import weakref
from typing import ClassVar

import torch

from morph.software import devices, generators, graphs, pools
from morph.software.machine import NotSimulatedError, started


class _Holder:
    """The memory from which the device reads a generator's state; all graphs share one per state."""

    def __init__(self, generator: torch.Generator) -> None:
        self.state = generator.graphsafe_get_state()
        self.tensors = [torch.empty(1, dtype=torch.int64, device=generator.device) for _ in range(2)]


_held: weakref.WeakValueDictionary[int, _Holder] = weakref.WeakValueDictionary()


def _holder(generator: torch.Generator) -> _Holder:
    state = started().native.generator_state(generator)
    found = _held.get(state)
    if found is None:
        found = _held[state] = _Holder(generator)
    return found


class GraphBase(graphs.Graph):
    """``torch._C._CUDAGraph``: it is instantiated by itself, or by the program where it asks to keep it."""

    _current: ClassVar[GraphBase | None] = None

    def __new__(cls, keep_graph: bool = False) -> GraphBase:
        """Make an empty graph."""
        made = super().__new__(cls)
        made._is_kept = keep_graph
        return made

    _is_kept: bool

    def __init__(self, keep_graph: bool = False) -> None:
        super().__init__()
        self._holders: list[_Holder] = []

    @staticmethod
    def get_currently_capturing_graph() -> GraphBase:
        """Return the graph that work is being captured into."""
        if GraphBase._current is None:
            raise RuntimeError("The current stream is not currently capturing.")
        return GraphBase._current

    def register_generator_state(self, generator: torch.Generator) -> None:
        """Take a generator; every replay draws anew from the state that it has now."""
        super().register_generator_state(generator)
        self._holders.append(_holder(generator))

    def instantiate(self) -> None:
        """Make the graph ready for its replay."""
        self._captured("instantiate")
        if not self._is_kept:
            raise RuntimeError("instantiate() is intended to be called by the user only when keep_graph=true")

    def reset(self) -> None:
        """Forget what was captured, and release the pool and the generators."""
        super().reset()
        self._holders.clear()

    def raw_cuda_graph(self) -> int:
        """Raise an error: there is no ``cudaGraph_t``."""
        raise NotSimulatedError("torch.cuda.CUDAGraph.raw_cuda_graph", "there is no cudaGraph_t")

    def raw_cuda_graph_exec(self) -> int:
        """Raise an error: there is no ``cudaGraphExec_t``."""
        name = "torch.cuda.CUDAGraph.raw_cuda_graph_exec"
        raise NotSimulatedError(name, "there is no cudaGraphExec_t")

    def begin_capture_to_if_node(self, scalar_cuda_pred_tensor: torch.Tensor) -> None:
        """Raise an error: a captured graph always runs whole."""
        name = "torch.cuda.CUDAGraph.begin_capture_to_if_node"
        raise NotSimulatedError(name, "its graphs have no branches")

    end_capture_to_conditional_node = begin_capture_to_if_node

    def _begin(self, stream: torch.Stream, pool: pools.Id) -> None:
        self._holders.append(_holder(generators.get_default_generator(devices.current_device())))
        GraphBase._current = self
        super()._begin(stream, pool)

    def _end(self) -> None:
        GraphBase._current = None
        super()._end()


GraphBase.__name__ = GraphBase.__qualname__ = "_CUDAGraph"
GraphBase.__module__ = "torch._C"
