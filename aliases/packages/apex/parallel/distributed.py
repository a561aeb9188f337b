"""Modules whose gradients are averaged over all processes."""

from __future__ import annotations

import warnings
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from ..kernels.original import initializer
from ..multi_tensor_apply import multi_tensor_applier as multi_tensor_applier
from .flat import apply_flat_dist_call as apply_flat_dist_call
from .flat import extract_tensors as extract_tensors
from .flat import flat_dist_call as flat_dist_call
from .flat import flatten as flatten
from .flat import split_by_type as split_by_type
from .flat import unflatten as unflatten


class Reducer:
    """Averages gradients over all processes on demand.

    Args:
        module_or_grads_list: A module, to which the first process's parameters are copied at once, or
            gradients in nested iterables.
    """

    def __init__(self, module_or_grads_list: Any) -> None:
        self.module: nn.Module | None = None
        self.grads: list[Tensor] = []
        if isinstance(module_or_grads_list, nn.Module):
            self.module = module_or_grads_list
            flat_dist_call([param.data for param in self.module.parameters()], dist.broadcast, (0,))
        else:
            extract_tensors(module_or_grads_list, self.grads)

    def reduce(self) -> None:
        """Average the gradients in place."""
        grads = self.grads
        if self.module is not None:
            grads = [param.grad.data for param in self.module.parameters() if param.grad is not None]
        flat_dist_call(grads, dist.all_reduce)


class DistributedDataParallel(nn.parallel.DistributedDataParallel):
    """torch's module with apex's options: it broadcasts no buffers, and parameters may be unused.

    Args:
        module: The module; its parameters' gradients are replaced in place.
        message_size: The minimum number of elements that are reduced at once.
        delay_allreduce: Whether all gradients are reduced at once, at the end.
        shared_param: No longer supported.
        retain_allreduce_buffers: Whether gradients become views of the reduced buffers.
        allreduce_always_fp32: Whether gradients of any dtype are reduced in float32.
        gradient_average: Whether to average gradients instead of adding them up.
        gradient_predivide_factor: The divisor of gradients before the reduction, and their factor when they
            are averaged.
        allreduce_trigger_params: Accepted without effect, like all others: torch closes buckets by size.

    Raises:
        ValueError: If options are incompatible, or ``shared_param`` is passed.
    """

    @initializer(__name__)
    def __init__(self, module: nn.Module, message_size: int, delay_allreduce: bool, **options: Any) -> None:
        _check(delay_allreduce, **options)
        # torch looks for unused parameters, which apex allows, and warns once that there are none
        warnings.filterwarnings("ignore", "find_unused_parameters=True was specified")
        elements = sum(param.numel() for param in module.parameters()) if delay_allreduce else message_size
        view = options["retain_allreduce_buffers"]
        sizes: dict[str, Any] = {"bucket_cap_mb": elements * 4 / 2**20, "gradient_as_bucket_view": view}
        super().__init__(module, broadcast_buffers=False, find_unused_parameters=True, **sizes)
        self.delay_allreduce, self.message_size = delay_allreduce, message_size
        self.gradient_average, self.allreduce_always_fp32 = (
            options[name] for name in ("gradient_average", "allreduce_always_fp32")
        )
        self.gradient_predivide_factor: float = options["gradient_predivide_factor"]
        if self.allreduce_always_fp32 or not self.gradient_average or self.gradient_predivide_factor != 1.0:
            self.register_comm_hook(None, lambda state, bucket: self._reduced(bucket))

    def enable_allreduce(self) -> None:
        """Make later passes reduce gradients again."""
        self.require_backward_grad_sync = True

    def disable_allreduce(self) -> None:
        """Make later passes leave each process's gradients unreduced."""
        self.require_backward_grad_sync = False

    def _reduced(self, bucket: Any) -> Any:
        flat: Tensor = bucket.buffer()
        given = flat.float() if self.allreduce_always_fp32 else flat
        work: Any = dist.all_reduce(given.div_(self.gradient_predivide_factor), async_op=True)
        after = self.gradient_predivide_factor / dist.get_world_size() if self.gradient_average else 1.0

        def written(future: torch.futures.Future[list[Tensor]]) -> Tensor:
            reduced: Tensor = future.value()[0]
            return flat.copy_(reduced.mul_(after))

        return work.get_future().then(written)


def _check(delay_allreduce: bool, **options: Any) -> None:
    if options["shared_param"] is not None:
        raise ValueError("shared_param is no longer supported: use delay_allreduce=True")
    if delay_allreduce and options["num_allreduce_streams"] > 1:
        raise ValueError("num_allreduce_streams may only be used if delay_allreduce=False")
    if delay_allreduce and options["allreduce_trigger_params"] is not None:
        raise ValueError("allreduce_trigger_params is only valid if delay_allreduce=False")
