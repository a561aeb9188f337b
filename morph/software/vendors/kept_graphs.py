"""Graphs of vendors whose class takes ``keep_graph`` like CUDA's."""

from __future__ import annotations

from morph.software import graphs


class Graph(graphs.Graph):
    """A graph that the program may instantiate itself.

    Args:
        keep_graph: Whether ``instantiate`` is left to the program.
    """

    def __init__(self, keep_graph: bool = False) -> None:
        super().__init__()
        self._keeps = keep_graph

    def instantiate(self) -> None:
        """Make a graph that is kept ready for its replay."""
        if not self._keeps:
            raise RuntimeError("instantiate() is intended to be called by the user only when keep_graph=true")
        self._captured("instantiate")
