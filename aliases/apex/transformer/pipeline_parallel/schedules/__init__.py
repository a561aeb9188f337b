"""The order of forward and backward passes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from morph.backends import active
from morph.errors import MissingNameError

from ... import parallel_state
from .fwd_bwd_no_pipelining import forward_backward_no_pipelining

__all__ = ["get_forward_backward_func"]


def get_forward_backward_func(
    virtual_pipeline_model_parallel_size: int | None, pipeline_model_parallel_size: int
) -> Callable[..., Any]:
    """Return what runs all micro-batches of a step.

    Args:
        virtual_pipeline_model_parallel_size: How many parts of the model each process has.
        pipeline_model_parallel_size: How many processes share the layers.

    Raises:
        MissingNameError: If there are several.
    """
    if parallel_state.get_pipeline_model_parallel_world_size() == 1:
        return forward_backward_no_pipelining
    backend = active()
    raise MissingNameError(
        "apex.transformer.pipeline_parallel with several stages",
        backend.name if backend else "any",
        "its schedules went to Megatron: use megatron.core.pipeline_parallel or torch's own pipelining",
    )
