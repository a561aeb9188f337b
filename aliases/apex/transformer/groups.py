"""The groups of processes that a model is spread over.

Neighbours share a layer's tensors (tensor parallel); processes that are further apart have the same part of
the model and different data (data parallel); the furthest apart have different layers (pipeline parallel).
"""

from __future__ import annotations

import dataclasses
import os
import warnings
from collections.abc import Callable
from typing import Any

import torch.distributed as dist

from ._ucc_util import HAS_UCC
from .log_util import get_transformer_logger
from .networks import new_process_group, restore_network

_logger = get_transformer_logger(__name__)
Ranks = list[int]


class ExperimentalWarning(Warning):
    """Something is not well tried."""


@dataclasses.dataclass
class State:
    """The groups of this process, and where it is in them.

    Attributes:
        groups: By name: ``"tensor"``, ``"pipeline"``, ``"data"``, ``"model"``, ``"amax"``, ``"embedding"``,
            ``"position embedding"``, ``"encoder relative position embedding"`` and the decoder's.
        members: The ranks of some of these groups, whether this process is one of them or not.
        pipeline: The ranks of this process's pipeline, in order.
        virtual_rank: Which of its parts of the model this process works on.
        virtual_size: How many parts of the model this process has.
        split_rank: Where in the pipeline the decoder begins.
        overrides: Ranks and sizes that were set by hand, by name.
    """

    groups: dict[str, Any] = dataclasses.field(default_factory=dict)
    members: dict[str, Ranks] = dataclasses.field(default_factory=dict)
    pipeline: Ranks = dataclasses.field(default_factory=list)
    virtual_rank: int | None = None
    virtual_size: int | None = None
    split_rank: int | None = None
    overrides: dict[str, int] = dataclasses.field(default_factory=dict)


state = State()


def initialize_model_parallel(
    tensor_model_parallel_size_: int = 1,
    pipeline_model_parallel_size_: int = 1,
    virtual_pipeline_model_parallel_size_: int | None = None,
    pipeline_model_parallel_split_rank_: int | None = None,
    use_fp8_: bool = False,
    init_mpi_proc_group: bool = False,
    *,
    default_backend: str | None = None,
    p2p_backend: str | None = None,
) -> None:
    """Make the groups; every process calls it.

    Args:
        tensor_model_parallel_size_: How many processes share a layer's tensors.
        pipeline_model_parallel_size_: How many processes share the layers.
        virtual_pipeline_model_parallel_size_: How many parts of the model each process has.
        pipeline_model_parallel_split_rank_: Where in the pipeline the decoder begins.
        use_fp8_: Whether to make the groups that largest values are reduced over.
        init_mpi_proc_group: Whether to make a group of all processes over MPI.
        default_backend: The backend of the groups: ``"nccl"``, ``"ucc"`` or None.
        p2p_backend: The backend of the groups along the pipeline.

    Raises:
        RuntimeError: If the processes cannot be divided so.
        ImportError: If UCC is asked for and torch does not have it.
    """
    assert dist.is_initialized()
    _check_backends(default_backend, p2p_backend)
    network = os.getenv("NCCL_NET")
    world = dist.get_world_size()
    tensor, pipeline = min(tensor_model_parallel_size_, world), min(pipeline_model_parallel_size_, world)
    if world % (tensor * pipeline) != 0:
        raise RuntimeError(
            f"`world_size` ({world}) is not divisible by tensor_model_parallel_size ({tensor}) "
            f"x pipeline_model_parallel_size ({pipeline})"
        )
    if dist.get_rank() == 0:
        sizes = f"tensor {tensor}, pipeline {pipeline}, data {world // (tensor * pipeline)}"
        _logger.info("> initializing model parallel groups with sizes: %s", sizes)
    if virtual_pipeline_model_parallel_size_ is not None:
        assert pipeline_model_parallel_size_ > 2, (
            "pipeline-model-parallel size should be greater than 2 with interleaved schedule"
        )
        state.virtual_rank, state.virtual_size = 0, virtual_pipeline_model_parallel_size_
    if pipeline_model_parallel_split_rank_ is not None:
        state.split_rank = pipeline_model_parallel_split_rank_
    _make_default_groups(world, tensor, pipeline, use_fp8_, default_backend)
    _make_pipeline_groups(world, pipeline, pipeline_model_parallel_split_rank_, p2p_backend)
    if init_mpi_proc_group:
        dist.new_group(backend="mpi")
    restore_network(network)


def _check_backends(*backends: str | None) -> None:
    assert all(backend in (None, "nccl", "ucc") for backend in backends)
    if "ucc" in backends:
        if not HAS_UCC:
            raise ImportError("UCC backend requires pytorch source build with UCC installed and enabled")
        warnings.warn("`ucc` backend support is experimental", ExperimentalWarning, stacklevel=3)


def _make(name: str, ranks: Ranks, make: Callable[[Ranks], Any]) -> None:
    """Make a group, in which every process takes part, and keep it if this process is in it."""
    group = make(ranks)
    if dist.get_rank() in ranks:
        assert name not in state.groups, f"{name} parallel group is already initialized"
        state.groups[name] = group


def _make_default_groups(world: int, tensor: int, pipeline: int, fp8: bool, backend: str | None) -> None:
    def make(ranks: Ranks) -> Any:
        return new_process_group(ranks, backend)

    stage = world // pipeline
    data_groups = [
        list(range(first + offset, first + stage, tensor))
        for first in range(0, world, stage)
        for offset in range(tensor)
    ]
    for ranks in data_groups:
        _make("data", ranks, make)
    if fp8:
        for first in range(0, world, stage):
            _make("amax", list(range(first, first + stage)), make)
    for column in zip(*data_groups, strict=True):
        _make("model", list(column), make)
    for first in range(0, world, tensor):
        _make("tensor", list(range(first, first + tensor)), make)


def _make_pipeline_groups(world: int, pipeline: int, split: int | None, backend: str | None) -> None:
    def make(ranks: Ranks) -> Any:
        return new_process_group(ranks, backend)

    for first in range(world // pipeline):
        ranks = list(range(first, world, world // pipeline))
        _make("pipeline", ranks, make)
        if dist.get_rank() in ranks:
            state.pipeline = ranks
        for name, members in _ends(ranks, split).items():
            if members:
                _make(name, members, make)
            if dist.get_rank() in ranks:
                state.members[name] = members


def _ends(ranks: Ranks, split: int | None) -> dict[str, Ranks]:
    """Return the members of the groups that share embeddings along a pipeline."""
    names = "embedding", "position embedding"
    relative = "encoder relative position embedding", "decoder relative position embedding"
    if len(ranks) == 1:
        return dict.fromkeys((*names, *relative), ranks)
    ends, starts = [ranks[0], ranks[-1]], [ranks[0]]
    if split is None:
        return {names[0]: ends, names[1]: starts, **dict.fromkeys(relative, starts)}
    if ranks[split] not in ends:
        ends = [ranks[0], ranks[split], ranks[-1]]
    if ranks[split] not in starts:
        starts = [ranks[0], ranks[split]]
    return {names[0]: ends, names[1]: starts, relative[0]: ranks[:split], relative[1]: ranks[split:]}


def group(name: str, description: str | None = None) -> Any:
    """Return a group of this process.

    Args:
        name: See ``State.groups``.
        description: What an error calls it.
    """
    assert name in state.groups, f"{description or name} group is not initialized"
    return state.groups[name]


def destroy_model_parallel() -> None:
    """Forget all groups."""
    state.__dict__.update(State().__dict__)


def model_parallel_is_initialized() -> bool:
    """Tell whether there are groups."""
    return {"tensor", "pipeline", "data"} <= state.groups.keys()


def is_unitialized() -> bool:
    """Tell whether there are no groups."""
    return "data" not in state.groups
