"""Captures a call of a function, or tells why that failed."""

import pytest
import torch


def captured(work, graph=None, **options):
    """Captures a call of a function; returns the graph and the result of the call."""
    graph = graph or torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, **options):
        result = work()
    return graph, result


def refused(work):
    """Returns why a capture of some work failed."""
    with (
        torch.cuda.stream(torch.cuda.current_stream()),  # a failed capture leaves its own stream current
        pytest.raises(RuntimeError, match="failed due to a previous error during capture") as caught,
    ):
        captured(work)
    assert not torch.cuda.is_current_stream_capturing()
    return str(caught.value.__context__)
