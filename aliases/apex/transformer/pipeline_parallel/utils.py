"""What training loops of models that are spread over processes need."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from ...kernels.scaling import norms
from ...multi_tensor_apply import multi_tensor_applier as multi_tensor_applier
from .. import parallel_state as parallel_state
from ..enums import ModelType as ModelType
from ..microbatches import NumMicroBatchesCalculator
from ..microbatches import build_num_microbatches_calculator as build_num_microbatches_calculator
from ..tensor_parallel.attributes import param_is_not_tensor_parallel_duplicate
from ._timers import _Timers
from .sequences import get_ltor_masks_and_position_ids as get_ltor_masks_and_position_ids

Shape = list[int] | torch.Size

_GLOBAL_NUM_MICROBATCHES_CALCULATOR: NumMicroBatchesCalculator | None = None
_GLOBAL_AUTORESUME: Any = None
_GLOBAL_TIMERS: _Timers | None = None


def listify_model(model: Any) -> list[nn.Module]:
    """Return a list as it is, and a model in a list."""
    return model if isinstance(model, list) else [model]


def setup_microbatch_calculator(
    rank: int,
    rampup_batch_size: Sequence[int] | None,
    global_batch_size: int,
    micro_batch_size: int,
    data_parallel_size: int,
) -> None:
    """Set how many micro-batches a step has, once; arguments as ``build_num_microbatches_calculator``."""
    assert _GLOBAL_NUM_MICROBATCHES_CALCULATOR is None, "num microbatches calculator is already initialized."
    sizes = global_batch_size, micro_batch_size, data_parallel_size
    _reconfigure_microbatch_calculator(rank, rampup_batch_size, *sizes)


def _reconfigure_microbatch_calculator(
    rank: int,
    rampup_batch_size: Sequence[int] | None,
    global_batch_size: int,
    micro_batch_size: int,
    data_parallel_size: int,
) -> None:
    global _GLOBAL_NUM_MICROBATCHES_CALCULATOR
    _GLOBAL_NUM_MICROBATCHES_CALCULATOR = build_num_microbatches_calculator(
        rank, rampup_batch_size, global_batch_size, micro_batch_size, data_parallel_size
    )


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
    """Take into account how many samples were taken."""
    _calculator().update(consumed_samples, consistency_check)


def get_kth_microbatch(batch: Any, k: int) -> Any:
    """Return the micro-batch with number ``k`` of a list of tensors; what is no list, as it is."""
    if not isinstance(batch, list | tuple):
        return batch
    size = get_micro_batch_size()
    start, end = k * size, (k + 1) * size
    assert batch
    assert all(each.size(0) >= end for each in batch)
    return [each[start:end] for each in batch]


def get_autoresume() -> Any:
    """Return what resumes runs by itself; there is none."""
    return _GLOBAL_AUTORESUME


def _set_timers() -> None:
    global _GLOBAL_TIMERS
    assert _GLOBAL_TIMERS is None, "timers is already initialized."
    _GLOBAL_TIMERS = _Timers()


def get_timers() -> _Timers:
    """Return the timers."""
    assert _GLOBAL_TIMERS is not None, "timers is not initialized."
    return _GLOBAL_TIMERS


def print_rank_0(message: str) -> None:
    """Print in the first process."""
    if not dist.is_initialized() or dist.get_rank() == 0:
        print(message, flush=True)


def is_last_rank() -> bool:
    """Tell whether this is the last process."""
    return dist.get_rank() == dist.get_world_size() - 1


def print_rank_last(message: str) -> None:
    """Print in the last process."""
    if not dist.is_initialized() or is_last_rank():
        print(message, flush=True)


def param_is_not_shared(param: nn.Parameter) -> bool:
    """Return the attribute ``shared`` of a parameter, by the name that apex has for it."""
    return bool(getattr(param, "shared", False))


def unwrap_model(model: Any, module_instances: Any = (DistributedDataParallel,)) -> Any:
    """Return the model, or each of a list, out of what it is wrapped in.

    Args:
        model: The model, or a list.
        module_instances: The classes of wrappers, each with the attribute ``module``.
    """
    if isinstance(model, list):
        return [unwrap_model(each, module_instances) for each in model]
    while isinstance(model, module_instances):
        model = model.module
    return model


def get_model_type(model: nn.Module) -> ModelType:
    """Return what a model says that it consists of."""
    kind: ModelType = getattr(unwrap_model(model), "model_type", ModelType.encoder_or_decoder)
    return kind


def calc_params_l2_norm(model: Any, bf16: bool) -> float:
    """Return the norm of all parameters that are counted, over all processes of the model.

    Args:
        model: The model, or a list.
        bf16: Not looked at: norms are computed in float32 in any case.
    """
    params = [
        param.data
        for each in listify_model(model)
        for param in each.parameters()
        if param_is_not_shared(param) and param_is_not_tensor_parallel_duplicate(param)
    ]
    total = norms(params)[0].square() if params else torch.zeros(1, device="cuda")
    dist.all_reduce(total, group=parallel_state.get_model_parallel_group())
    return math.sqrt(total.item())


def average_losses_across_data_parallel_group(losses: Sequence[Tensor]) -> Tensor:
    """Return the average of each loss over the data-parallel group."""
    averages = torch.cat([loss.detach().clone().view(1) for loss in losses])
    group = parallel_state.get_data_parallel_group()
    dist.all_reduce(averages, group=group)
    return averages / dist.get_world_size(group)


def report_memory(name: str) -> None:
    """Print how much of the device's memory is taken, in the first process of the data-parallel group."""
    taken = {
        "allocated": torch.cuda.memory_allocated(),
        "max allocated": torch.cuda.max_memory_allocated(),
        "reserved": torch.cuda.memory_reserved(),
        "max reserved": torch.cuda.max_memory_reserved(),
    }
    line = "".join(f" | {what}: {size / 2**20}" for what, size in taken.items())
    if parallel_state.get_data_parallel_rank() == 0:
        print(f"[Rank {dist.get_rank()}] {name} memory (MB){line}", flush=True)


def print_params_min_max_norm(optimizer: Any, iteration: int) -> None:
    """Print the extremes and the norm of each parameter of ``optimizer.optimizer``."""
    lines = ["iteration, rank, index, tensor-model-parallel, min, max, norm"]
    params = [param for group in optimizer.optimizer.param_groups for param in group["params"]]
    for index, param in enumerate(params, start=1):
        where = f"{iteration:7d}, {dist.get_rank():4d}, {index:4d}, {int(param.tensor_model_parallel):2d}"
        data = param.data
        lines.append(f"{where}, {data.min():.6E}, {data.max():.6E}, {torch.linalg.norm(data):.6E}")
    print("\n".join(lines), flush=True)
