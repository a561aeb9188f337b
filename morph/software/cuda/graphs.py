"""The base of ``torch.cuda.CUDAGraph`` in a torch built for CUDA."""

from __future__ import annotations

import warnings
import weakref
from typing import Any, ClassVar, NoReturn, SupportsIndex

import torch

from morph.software import devices, generators, graphs
from morph.software.machine import NotSimulatedError, started
from morph.software.pools import Id

ILLEGAL_STATE = 401  # of cudaError


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
        made._is_kept, made._is_ending, made._is_instantiated = keep_graph, False, False
        return made

    _is_kept: bool
    _is_ending: bool
    _is_instantiated: bool

    def __init__(self, keep_graph: bool = False) -> None:
        super().__init__()
        self._holders: list[_Holder] = []
        self._captured_pools: dict[Id, weakref.finalize[Any, Any]] = {}

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

    def capture_end_pre(self) -> None:
        """End the capture; until ``capture_end_post`` any graph may be instantiated (torch 2.14)."""
        super().capture_end()
        self._is_ending = True

    def capture_end_post(self) -> None:
        """Let go of what was captured unless the program asked to keep it; the replay needs nothing of it."""
        self._is_ending = False

    def instantiate(self) -> None:
        """Make the graph ready for its replay."""
        if self._steps is None:
            raise RuntimeError("capture_end() must have been called before calling instantiate")
        if not self._is_kept and not self._is_ending:
            raise RuntimeError("instantiate() is intended to be called by the user only when keep_graph=true")
        self._is_instantiated = True

    @property
    def _has_graph_exec(self) -> bool:
        """Whether the graph is ready for its replay; one that is not kept always is (torch 2.15)."""
        return self._is_instantiated or not self._is_kept

    def reset(self) -> None:
        """Forget what was captured, and release the pool and the generators."""
        super().reset()
        self._is_instantiated = False
        self._holders.clear()
        while self._captured_pools:
            self._captured_pools.popitem()[1]()

    def pools(self) -> list[Id]:
        """Return the tokens of the pools whose memory the graph keeps (torch 2.14)."""
        return [self.pool(), *self._captured_pools]

    def _retain_pool(self, pool: Id) -> None:
        """Keep the memory of one more pool (torch 2.14)."""
        native, index = started().native, devices.current_device()
        if pool not in self.pools():
            native.hold_pool(index, pool)
            self._captured_pools[pool] = weakref.finalize(self, native.let_go_of_pool, index, pool)

    def capture_end(self) -> None:
        """End the capture, which has computed nothing."""
        if self._capture is None:
            started().native.refuse(ILLEGAL_STATE)
        super().capture_end()

    def debug_dump(self, debug_path: str) -> None:
        """Write the graph's nodes in Graphviz's language, where the program keeps the graph."""
        if self._is_kept:
            self._is_debugged = True
        if self._is_kept or not self._is_debugged:
            super().debug_dump(debug_path)
        else:
            warnings.warn("DEBUG: calling debug_dump()", stacklevel=2)

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError(f"cannot pickle {type(self).__name__!r} object")

    def raw_cuda_graph(self) -> int:
        """Raise an error: there is no ``cudaGraph_t``."""
        if not self._is_kept:
            what = "You cannot access the raw cudaGraph_t instance"
            raise RuntimeError(f"{what} unless CUDAGraph was initialized with keep_graph=true")
        raise NotSimulatedError("torch.cuda.CUDAGraph.raw_cuda_graph", "there is no cudaGraph_t")

    def raw_cuda_graph_exec(self) -> int:
        """Raise an error: there is no ``cudaGraphExec_t``."""
        if not self._has_graph_exec or self._steps is None:
            what = "You cannot access the raw cudaGraphExec_t instance"
            raise RuntimeError(f"{what} until instantiate() has been called")
        name = "torch.cuda.CUDAGraph.raw_cuda_graph_exec"
        raise NotSimulatedError(name, "there is no cudaGraphExec_t")

    def begin_capture_to_if_node(self, scalar_cuda_pred_tensor: torch.Tensor) -> None:
        """Raise an error: a captured graph always runs whole."""
        name = "torch.cuda.CUDAGraph.begin_capture_to_if_node"
        raise NotSimulatedError(name, "its graphs have no branches")

    begin_capture_to_while_node = begin_capture_to_if_node
    end_capture_to_conditional_node = begin_capture_to_if_node
    set_conditional_handle_for_current_node = begin_capture_to_if_node

    def _begin(self, pool: Id) -> None:
        self._holders.append(_holder(generators.get_default_generator(devices.current_device())))
        GraphBase._current = self
        super()._begin(pool)

    def _end(self) -> None:
        GraphBase._current = None
        super()._end()


GraphBase.__name__ = GraphBase.__qualname__ = "_CUDAGraph"
GraphBase.__module__ = "torch._C"
