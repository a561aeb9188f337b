"""Captures a call of a function."""

from __future__ import annotations

import torch


def captured(work, graph=None, **options):
    """Captures a call of a function; returns the graph and the result of the call."""
    graph = graph or torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, **options):
        result = work()
    return graph, result
