"""Data parallelism, and batch normalisation over all processes."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.distributed import ReduceOp as ReduceOp

from .distributed import DistributedDataParallel as DistributedDataParallel
from .distributed import Reducer as Reducer
from .optimized_sync_batchnorm import SyncBatchNorm as SyncBatchNorm


def convert_syncbn_model(
    module: nn.Module, process_group: Any = None, channel_last: bool = False
) -> nn.Module:
    """Replace all batch normalisation in ``module`` with ``SyncBatchNorm``.

    Returns:
        The module, or its replacement.
    """
    if isinstance(module, nn.modules.instancenorm._InstanceNorm):
        return module
    converted = module
    if isinstance(module, nn.modules.batchnorm._BatchNorm):
        converted = _converted(module, process_group, channel_last)
    for name, child in module.named_children():
        converted.add_module(name, convert_syncbn_model(child, process_group, channel_last))
    return converted


def _converted(module: Any, process_group: Any, channel_last: bool) -> SyncBatchNorm:
    options = module.momentum, module.affine, module.track_running_stats
    converted: SyncBatchNorm = SyncBatchNorm(
        module.num_features, module.eps, *options, process_group, channel_last
    )
    converted.running_mean = module.running_mean
    converted.running_var = module.running_var
    converted.num_batches_tracked = module.num_batches_tracked
    if module.affine:
        converted.weight.data = module.weight.detach().clone()
        converted.bias.data = module.bias.detach().clone()
    return converted.train(module.training)


def create_syncbn_process_group(group_size: int) -> Any:
    """Split all processes into groups of ``group_size``, and return this one's; 0 is one group of all."""
    if group_size == 0:
        return None
    world_size = torch.distributed.get_world_size()
    assert world_size >= group_size
    assert world_size % group_size == 0
    own, _ = torch.distributed.new_subgroups(group_size)  # type: ignore[no-untyped-call]
    return own
