"""The process groups over which a model is spread, and this process's ranks in them.

Neighbours share a layer's tensors (tensor parallel); processes further apart have the same part of the model
and different data (data parallel); the furthest apart have different layers (pipeline parallel).
"""

from __future__ import annotations

from typing import Any

import torch.distributed as dist

from .log_util import get_transformer_logger
from .utils import ensure_divisibility as ensure_divisibility

_logger = get_transformer_logger(__name__)
_groups: dict[str, Any] = {}
_overrides: dict[str, int] = {}
"""Ranks and sizes that were set by hand."""


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
    """Create the groups; every process must call this.

    Args:
        tensor_model_parallel_size_: How many processes share a layer's tensors.
        pipeline_model_parallel_size_: How many processes share the layers.
        virtual_pipeline_model_parallel_size_: Refused, like the next three.
        pipeline_model_parallel_split_rank_: See above.
        use_fp8_: See above.
        init_mpi_proc_group: See above.
        default_backend: The backend of the groups, None for ``"nccl"``.
        p2p_backend: The backend of the groups along the pipeline.

    Raises:
        RuntimeError: If the number of processes is not divisible accordingly.
        NotImplementedError: If virtual pipelines, an encoder and a decoder, FP8 or MPI are requested.
    """
    assert dist.is_initialized()
    stages = virtual_pipeline_model_parallel_size_, pipeline_model_parallel_split_rank_
    if stages != (None, None) or use_fp8_ or init_mpi_proc_group:
        raise NotImplementedError("virtual or split pipelines, FP8, MPI: use megatron.core.parallel_state")
    world = dist.get_world_size()
    tensor, pipeline = min(tensor_model_parallel_size_, world), min(pipeline_model_parallel_size_, world)
    if world % (tensor * pipeline) != 0:
        raise RuntimeError(
            f"`world_size` ({world}) is not divisible by tensor_model_parallel_size ({tensor}) "
            f"x pipeline_model_parallel_size ({pipeline})"
        )
    _make_groups(world, tensor, pipeline, default_backend or "nccl", p2p_backend or "nccl")


def _make_groups(world: int, tensor: int, pipeline: int, backend: str, between_stages: str) -> None:
    stage, ranks = world // pipeline, range(world)
    data = [ranks[a + b : a + stage : tensor] for a in range(0, world, stage) for b in range(tensor)]
    for name, kind, members in (
        ("data parallel", backend, data),
        ("model parallel", backend, zip(*data, strict=True)),
        ("intra_layer_model parallel", backend, [ranks[a : a + tensor] for a in range(0, world, tensor)]),
        ("pipeline_model parallel", between_stages, [ranks[a::stage] for a in range(stage)]),
    ):
        for each in members:
            made = dist.new_group(list(each), backend=kind)  # every process must take part
            if dist.get_rank() in each:
                assert name not in _groups, f"{name} group is already initialized"
                _groups[name] = made
    if dist.get_rank() == 0:
        sizes = f"tensor {tensor}, pipeline {pipeline}, data {len(data[0])}"
        _logger.info("> initialized model parallel groups with sizes: %s", sizes)


def destroy_model_parallel() -> None:
    """Remove all groups, and the ranks and sizes set by hand."""
    _groups.clear()
    _overrides.clear()


def model_parallel_is_initialized() -> bool:
    """Return whether there are groups."""
    return bool(_groups)


def is_unitialized() -> bool:
    """Return whether there are no groups."""
    return not _groups


def _group(name: str) -> Any:
    assert name in _groups, f"{name} group is not initialized"
    return _groups[name]


def get_model_parallel_group() -> Any:
    """Return the group of the processes that share the model with this one."""
    return _group("model parallel")


def get_tensor_model_parallel_group() -> Any:
    """Return the group of the processes that share tensors with this one."""
    return _group("intra_layer_model parallel")


def get_pipeline_model_parallel_group() -> Any:
    """Return the group of this process's pipeline."""
    return _group("pipeline_model parallel")


def get_data_parallel_group() -> Any:
    """Return the group of the processes that have the same part of the model."""
    return _group("data parallel")


def set_tensor_model_parallel_world_size(world_size: int) -> None:
    """Set the size of the tensor-parallel group."""
    _overrides["tensor size"] = world_size


def set_pipeline_model_parallel_world_size(world_size: int) -> None:
    """Set the size of the pipeline."""
    _overrides["pipeline size"] = world_size


def set_tensor_model_parallel_rank(rank: int) -> None:
    """Set the rank of this process in its tensor-parallel group."""
    _overrides["tensor rank"] = rank


def set_pipeline_model_parallel_rank(rank: int) -> None:
    """Set the rank of this process in its pipeline."""
    _overrides["pipeline rank"] = rank


def get_tensor_model_parallel_world_size() -> int:
    """Return the size of this process's tensor-parallel group."""
    size = _overrides.get("tensor size")
    return dist.get_world_size(get_tensor_model_parallel_group()) if size is None else size


def get_pipeline_model_parallel_world_size() -> int:
    """Return the number of stages of this process's pipeline."""
    size = _overrides.get("pipeline size")
    return dist.get_world_size(get_pipeline_model_parallel_group()) if size is None else size


def get_data_parallel_world_size() -> int:
    """Return the size of this process's data-parallel group."""
    return dist.get_world_size(get_data_parallel_group())


def get_tensor_model_parallel_rank() -> int:
    """Return the rank of this process in its tensor-parallel group."""
    rank = _overrides.get("tensor rank")
    return dist.get_rank(get_tensor_model_parallel_group()) if rank is None else rank


def get_pipeline_model_parallel_rank() -> int:
    """Return the rank of this process in its pipeline."""
    rank = _overrides.get("pipeline rank")
    return dist.get_rank(get_pipeline_model_parallel_group()) if rank is None else rank


def get_data_parallel_rank() -> int:
    """Return the rank of this process in its data-parallel group."""
    return dist.get_rank(get_data_parallel_group())


def get_rank_info() -> tuple[int, int, int, int | None]:
    """Return the ranks of this process in its groups: data, tensor, pipeline, and part of the model."""
    if not model_parallel_is_initialized():
        return 0, 0, 0, 0
    places = get_data_parallel_rank(), get_tensor_model_parallel_rank(), get_pipeline_model_parallel_rank()
    return *places, None


def is_pipeline_first_stage(ignore_virtual: bool = False) -> bool:
    """Return whether this process runs the first stage."""
    return get_pipeline_model_parallel_rank() == 0


def is_pipeline_last_stage(ignore_virtual: bool = False) -> bool:
    """Return whether this process runs the last stage."""
    return get_pipeline_model_parallel_rank() == get_pipeline_model_parallel_world_size() - 1


def get_tensor_model_parallel_src_rank() -> int:
    """Return the rank of the first process of this one's tensor-parallel group."""
    size = get_tensor_model_parallel_world_size()
    return dist.get_rank() // size * size


def get_data_parallel_src_rank() -> int:
    """Return the rank of the first process of this one's data-parallel group."""
    return dist.get_rank() % (dist.get_world_size() // get_data_parallel_world_size())


def get_pipeline_model_parallel_first_rank() -> int:
    """Return the rank of the pipeline's first process."""
    return _in_pipeline(0)


def get_pipeline_model_parallel_last_rank() -> int:
    """Return the rank of the pipeline's last process."""
    return _in_pipeline(-1)


def get_pipeline_model_parallel_next_rank() -> int:
    """Return the rank of the next process; the first one follows the last."""
    return _in_pipeline(get_pipeline_model_parallel_rank() + 1)


def get_pipeline_model_parallel_prev_rank() -> int:
    """Return the rank of the previous process; the last one precedes the first."""
    return _in_pipeline(get_pipeline_model_parallel_rank() - 1)


def _in_pipeline(place: int) -> int:
    ranks = dist.get_process_group_ranks(get_pipeline_model_parallel_group())
    return ranks[place % get_pipeline_model_parallel_world_size()]
