"""Where this process is in the groups that a model is spread over."""

from __future__ import annotations

from typing import Any

import torch.distributed as dist

from .groups import group, model_parallel_is_initialized, state


def get_model_parallel_group() -> Any:
    """Return the group of the processes that share the model with this one."""
    return group("model", "model parallel")


def get_tensor_model_parallel_group() -> Any:
    """Return the group of the processes that share tensors with this one."""
    return group("tensor", "intra_layer_model parallel")


def get_pipeline_model_parallel_group() -> Any:
    """Return the group of this process's pipeline."""
    return group("pipeline", "pipeline_model parallel")


def get_data_parallel_group() -> Any:
    """Return the group of the processes that have the same part of the model."""
    return group("data", "data parallel")


def get_amax_reduction_group() -> Any:
    """Return the group that largest values are reduced over."""
    return group("amax", "AMAX reduction")


def get_embedding_group() -> Any:
    """Return the group of the processes that have the embeddings."""
    return group("embedding")


def get_position_embedding_group() -> Any:
    """Return the group of the processes that have the position embeddings."""
    return group("position embedding")


def get_encoder_relative_position_embedding_group() -> Any:
    """Return the group of the processes that have the encoder's relative position embeddings."""
    return group("encoder relative position embedding")


def get_decoder_relative_position_embedding_group() -> Any:
    """Return the group of the processes that have the decoder's relative position embeddings."""
    return group("decoder relative position embedding")


def is_rank_in_embedding_group(ignore_virtual: bool = False) -> bool:
    """Tell whether this process has the embeddings, in the part of the model that it works on."""
    rank, members = dist.get_rank(), state.members["embedding"]
    if rank in members and not ignore_virtual:
        if rank == members[0]:
            return is_pipeline_first_stage()
        if rank == members[-1]:
            return is_pipeline_last_stage()
    return rank in members


def is_rank_in_position_embedding_group() -> bool:
    """Tell whether this process has the position embeddings."""
    return dist.get_rank() in state.members["position embedding"]


def is_rank_in_encoder_relative_position_embedding_group() -> bool:
    """Tell whether this process has the encoder's relative position embeddings."""
    return dist.get_rank() in state.members["encoder relative position embedding"]


def is_rank_in_decoder_relative_position_embedding_group() -> bool:
    """Tell whether this process has the decoder's relative position embeddings."""
    return dist.get_rank() in state.members["decoder relative position embedding"]


def is_pipeline_stage_before_split(rank: int | None = None) -> bool:
    """Tell whether a stage of the pipeline, this process's by default, runs the encoder."""
    if get_pipeline_model_parallel_world_size() == 1 or state.split_rank is None:
        return True
    return (get_pipeline_model_parallel_rank() if rank is None else rank) < state.split_rank


def is_pipeline_stage_after_split(rank: int | None = None) -> bool:
    """Tell whether a stage of the pipeline, this process's by default, runs the decoder."""
    if get_pipeline_model_parallel_world_size() == 1 or state.split_rank is None:
        return True
    return (get_pipeline_model_parallel_rank() if rank is None else rank) >= state.split_rank


def is_pipeline_stage_at_split() -> bool:
    """Tell whether this process runs the encoder's last stage."""
    rank = get_pipeline_model_parallel_rank()
    return is_pipeline_stage_before_split(rank) and is_pipeline_stage_after_split(rank + 1)


def set_tensor_model_parallel_world_size(world_size: int) -> None:
    """Have the tensor-parallel group be taken to be of a size."""
    state.overrides["tensor size"] = world_size


def set_pipeline_model_parallel_world_size(world_size: int) -> None:
    """Have the pipeline be taken to be of a size."""
    state.overrides["pipeline size"] = world_size


def set_tensor_model_parallel_rank(rank: int) -> None:
    """Have this process be taken to be at a place in its tensor-parallel group."""
    state.overrides["tensor rank"] = rank


def set_pipeline_model_parallel_rank(rank: int) -> None:
    """Have this process be taken to be at a place in its pipeline."""
    state.overrides["pipeline rank"] = rank


def get_tensor_model_parallel_world_size() -> int:
    """Return the size of this process's tensor-parallel group."""
    size = state.overrides.get("tensor size")
    return dist.get_world_size(get_tensor_model_parallel_group()) if size is None else size


def get_pipeline_model_parallel_world_size() -> int:
    """Return the number of stages of this process's pipeline."""
    size = state.overrides.get("pipeline size")
    return dist.get_world_size(get_pipeline_model_parallel_group()) if size is None else size


def get_tensor_model_parallel_rank() -> int:
    """Return the place of this process in its tensor-parallel group."""
    rank = state.overrides.get("tensor rank")
    return dist.get_rank(get_tensor_model_parallel_group()) if rank is None else rank


def get_pipeline_model_parallel_rank() -> int:
    """Return the place of this process in its pipeline."""
    rank = state.overrides.get("pipeline rank")
    return dist.get_rank(get_pipeline_model_parallel_group()) if rank is None else rank


def get_pipeline_model_parallel_split_rank() -> int | None:
    """Return where in the pipeline the decoder begins."""
    return state.split_rank


def set_pipeline_model_parallel_split_rank(pipeline_model_parallel_split_rank: int) -> None:
    """Have the decoder begin at a place in the pipeline."""
    state.split_rank = pipeline_model_parallel_split_rank


def is_pipeline_first_stage(ignore_virtual: bool = False) -> bool:
    """Tell whether this process runs the first stage, with the first of its parts of the model."""
    if not ignore_virtual and state.virtual_size is not None and state.virtual_rank != 0:
        return False
    return get_pipeline_model_parallel_rank() == 0


def is_pipeline_last_stage(ignore_virtual: bool = False) -> bool:
    """Tell whether this process runs the last stage, with the last of its parts of the model."""
    if not ignore_virtual and state.virtual_size is not None:
        if state.virtual_rank != state.virtual_size - 1:
            return False
    return get_pipeline_model_parallel_rank() == get_pipeline_model_parallel_world_size() - 1


def get_virtual_pipeline_model_parallel_rank() -> int | None:
    """Return which of its parts of the model this process works on."""
    return state.virtual_rank


def set_virtual_pipeline_model_parallel_rank(rank: int | None) -> None:
    """Have this process work on one of its parts of the model."""
    state.virtual_rank = rank


def get_virtual_pipeline_model_parallel_world_size() -> int | None:
    """Return how many parts of the model this process has."""
    return state.virtual_size


def set_virtual_pipeline_model_parallel_world_size(size: int | None) -> None:
    """Have this process be taken to have some parts of the model."""
    state.virtual_size = size


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
    return _in_pipeline(get_pipeline_model_parallel_world_size() - 1)


def get_pipeline_model_parallel_next_rank() -> int:
    """Return the rank of the process after this one, of the first one after the last."""
    return _in_pipeline(get_pipeline_model_parallel_rank() + 1)


def get_pipeline_model_parallel_prev_rank() -> int:
    """Return the rank of the process before this one, of the last one before the first."""
    return _in_pipeline(get_pipeline_model_parallel_rank() - 1)


def _in_pipeline(place: int) -> int:
    assert state.pipeline, "Pipeline parallel group is not initialized"
    return state.pipeline[place % get_pipeline_model_parallel_world_size()]


def get_data_parallel_world_size() -> int:
    """Return the size of this process's data-parallel group."""
    return dist.get_world_size(get_data_parallel_group())


def get_data_parallel_rank() -> int:
    """Return the place of this process in its data-parallel group."""
    return dist.get_rank(get_data_parallel_group())


def get_rank_info() -> tuple[int, int, int, int | None]:
    """Return the places of this process in its groups: data, tensor, pipeline, and part of the model."""
    if not model_parallel_is_initialized():
        return 0, 0, 0, 0
    return (
        get_data_parallel_rank(),
        get_tensor_model_parallel_rank(),
        get_pipeline_model_parallel_rank(),
        get_virtual_pipeline_model_parallel_rank(),
    )
