"""Helpers for training loops of models that are spread over processes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from ...multi_tensor_apply import multi_tensor_applier as multi_tensor_applier
from .. import parallel_state as parallel_state
from ..enums import ModelType as ModelType
from ..microbatches import NumMicroBatchesCalculator
from ..microbatches import build_num_microbatches_calculator as build_num_microbatches_calculator

_GLOBAL_NUM_MICROBATCHES_CALCULATOR: NumMicroBatchesCalculator | None = None


def listify_model(model: Any) -> list[nn.Module]:
    """Return a list unchanged, or a model in a list."""
    return model if isinstance(model, list) else [model]


def setup_microbatch_calculator(
    rank: int,
    rampup_batch_size: Sequence[int] | None,
    global_batch_size: int,
    micro_batch_size: int,
    data_parallel_size: int,
) -> None:
    """Set the number of micro-batches, once, with the arguments of ``build_num_microbatches_calculator``."""
    assert _GLOBAL_NUM_MICROBATCHES_CALCULATOR is None, "num microbatches calculator is already initialized."
    sizes = global_batch_size, micro_batch_size, data_parallel_size
    _reconfigure_microbatch_calculator(rank, rampup_batch_size, *sizes)


def _reconfigure_microbatch_calculator(rank: int, rampup: Sequence[int] | None, *sizes: int) -> None:
    global _GLOBAL_NUM_MICROBATCHES_CALCULATOR
    _GLOBAL_NUM_MICROBATCHES_CALCULATOR = build_num_microbatches_calculator(rank, rampup, *sizes)


def _calculator() -> NumMicroBatchesCalculator:
    assert _GLOBAL_NUM_MICROBATCHES_CALCULATOR is not None, "num microbatches calculator is not initialized."
    return _GLOBAL_NUM_MICROBATCHES_CALCULATOR


def get_micro_batch_size() -> int:
    """Return how many samples a micro-batch has."""
    return _calculator().micro_batch_size


def get_num_microbatches() -> int:
    """Return how many micro-batches a step has."""
    return _calculator().get()


def get_current_global_batch_size() -> int:
    """Return how many samples a step has in all processes together."""
    return _calculator().get_current_global_batch_size()


def update_num_microbatches(consumed_samples: int, consistency_check: bool = True) -> None:
    """Update the number of micro-batches for the number of samples taken."""
    _calculator().update(consumed_samples, consistency_check)


def get_kth_microbatch(batch: Any, k: int) -> Any:
    """Return micro-batch ``k`` of a list of tensors; anything else is returned unchanged."""
    if not isinstance(batch, list | tuple):
        return batch
    size = get_micro_batch_size()
    start, end = k * size, (k + 1) * size
    assert batch
    assert all(each.size(0) >= end for each in batch)
    return [each[start:end] for each in batch]


def print_rank_0(message: str) -> None:
    """Print in the first process."""
    if not dist.is_initialized() or dist.get_rank() == 0:
        print(message, flush=True)


def is_last_rank() -> bool:
    """Return whether this is the last process."""
    return dist.get_rank() == dist.get_world_size() - 1


def print_rank_last(message: str) -> None:
    """Print in the last process."""
    if not dist.is_initialized() or is_last_rank():
        print(message, flush=True)


def unwrap_model(model: Any, module_instances: Any = (DistributedDataParallel,)) -> Any:
    """Return the model, or each of a list, without its wrappers.

    Args:
        model: The model, or a list.
        module_instances: The classes of wrappers, each with the attribute ``module``.
    """
    if isinstance(model, list):
        return [unwrap_model(each, module_instances) for each in model]
    while isinstance(model, module_instances):
        model = model.module
    return model


def average_losses_across_data_parallel_group(losses: Sequence[Tensor]) -> Tensor:
    """Return the average of each loss over the data-parallel group."""
    averages = torch.cat([loss.detach().clone().view(1) for loss in losses])
    group = parallel_state.get_data_parallel_group()
    dist.all_reduce(averages, group=group)
    return averages / dist.get_world_size(group)


def get_ltor_masks_and_position_ids(
    data: Tensor, eod_token: int, reset_position_ids: bool, reset_attention_mask: bool, eod_mask_loss: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Build the masks and positions for a left-to-right model on sequences of several documents.

    Args:
        data: The tokens, of shape (batch, sequence).
        eod_token: The token that ends a document.
        reset_position_ids: Whether positions restart in each document.
        reset_attention_mask: Whether tokens attend only to those of their own document.
        eod_mask_loss: Whether the loss excludes the ends of documents.

    Returns:
        The attention mask, of shape (batch or 1, 1, sequence, sequence), true where a position is masked;
        the loss mask and the positions, of shape (batch, sequence).
    """
    ends = data == eod_token
    places = torch.arange(data.size(1), device=data.device).expand_as(data)
    # the document of each token: an end token belongs to the document that it ends
    document = ends.cumsum(1) - ends.long()
    seen = places[:1].unsqueeze(2) >= places[:1].unsqueeze(1)
    if reset_attention_mask:
        seen = seen & (document.unsqueeze(2) == document.unsqueeze(1))
    positions = places
    if reset_position_ids:
        first = torch.where(ends, places + 1, 0).cummax(1).values
        positions = places - torch.cat([torch.zeros_like(first[:, :1]), first[:, :-1]], dim=1)
    losses = torch.ones(data.shape, dtype=torch.float, device=data.device)
    if eod_mask_loss:
        losses = losses.masked_fill(ends, 0.0)
    return ~seen.unsqueeze(1), losses, positions
