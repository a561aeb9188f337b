"""Modules whose gradients are averaged over all processes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch.distributed as dist
from torch import Tensor, nn
from torch.autograd import Variable

from ..multi_tensor_apply import multi_tensor_applier as multi_tensor_applier
from .buckets import Arrivals, Buckets
from .flat import apply_flat_dist_call as apply_flat_dist_call
from .flat import extract_tensors as extract_tensors
from .flat import flat_dist_call as flat_dist_call
from .flat import flatten as flatten
from .flat import split_by_type as split_by_type
from .flat import split_half_float_double as split_half_float_double
from .flat import unflatten as unflatten
from .reductions import Reductions, marked

imported_flatten_impl = True


def import_flatten_impl() -> None:
    """Do nothing: ``flatten`` and ``unflatten`` are available."""


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


class DistributedDataParallel(nn.Module):
    """Averages a module's gradients over all processes during the backward pass.

    It copies the first process's parameters to the others. The first backward pass finds the order in which
    gradients become ready, and reduces them at its end; later ones reduce them while others are computed.

    Args:
        module: The module; its parameters' gradients are replaced in place.
        message_size: The minimum number of elements that are reduced at once.
        delay_allreduce: Whether every backward pass reduces all gradients at its end.
        shared_param: No longer supported.
        allreduce_trigger_params: Parameters that close a bucket instead of its size.
        retain_allreduce_buffers: Whether gradients become views of the reduced buffers, which stay in
            ``allreduce_buffers``.
        allreduce_always_fp32: Whether gradients of any dtype are reduced in float32.
        num_allreduce_streams: The number of process groups that share the reductions.
        allreduce_communicators: The process groups, and streams, which are not needed here.
        gradient_average: Whether to average gradients instead of adding them up.
        gradient_predivide_factor: The divisor of gradients before the reduction, and their factor when they
            are averaged.
        gradient_average_split_factor: Ignored.
        prof: Whether to mark ranges for profilers.

    Raises:
        ValueError: If options are incompatible, or ``shared_param`` is passed.
    """

    def __init__(
        self,
        module: nn.Module,
        message_size: int = 10000000,
        delay_allreduce: bool = False,
        shared_param: Any = None,
        allreduce_trigger_params: Iterable[Tensor] | None = None,
        retain_allreduce_buffers: bool = False,
        allreduce_always_fp32: bool = False,
        num_allreduce_streams: int = 1,
        allreduce_communicators: Sequence[Any] | None = None,
        gradient_average: bool = True,
        gradient_predivide_factor: float = 1.0,
        gradient_average_split_factor: Any = None,
        prof: bool = False,
    ) -> None:
        super().__init__()
        if num_allreduce_streams > 1 and delay_allreduce:
            raise ValueError(
                "several streams (num_allreduce_streams) may only be used if delay_allreduce=False."
            )
        if shared_param is not None:
            raise ValueError(
                "shared_param is no longer supported: parameters may be shared.  To reduce at the end of the "
                "backward pass, use delay_allreduce=True."
            )
        if allreduce_trigger_params is not None and delay_allreduce:
            raise ValueError("Setting allreduce_trigger_params is only valid if delay_allreduce=False.")
        if allreduce_communicators:
            assert len(allreduce_communicators[0]) == num_allreduce_streams
            assert len(allreduce_communicators[0]) == len(allreduce_communicators[1])
            assert num_allreduce_streams > 1
        self.module = module
        self.message_size = message_size
        self.delay_allreduce = delay_allreduce
        triggers = allreduce_trigger_params
        self.allreduce_trigger_params = None if triggers is None else {id(param) for param in triggers}
        self.custom_allreduce_triggers = triggers is not None
        self.retain_allreduce_buffers = retain_allreduce_buffers
        self.allreduce_always_fp32 = allreduce_always_fp32
        self.num_allreduce_streams = num_allreduce_streams
        self.allreduce_different_streams = num_allreduce_streams > 1
        self.allreduce_communicators = allreduce_communicators
        self.gradient_average = gradient_average
        self.gradient_predivide_factor = gradient_predivide_factor
        self.prof = prof
        self.world_size = float(dist.get_world_size())
        self._disable_allreduce = False
        self._forget_order()
        self.create_hooks()
        flat_dist_call([param.data for param in self.module.parameters()], dist.broadcast, (0,))

    def _forget_order(self) -> None:
        self.active_params: list[Tensor] = []
        self.allreduce_buffers: list[Tensor | None] = []
        self.bucket_pgs: list[Any] = []
        self.needs_refresh = True
        self.callback_queued = False
        self._arrivals: Arrivals | None = None
        self._layout: list[list[int]] = []
        self._buckets: Buckets | None = None
        self._reductions = Reductions(self)

    def __getstate__(self) -> dict[str, Any]:
        own = {"_arrivals", "_buckets", "_reductions", "active_params", "allreduce_buffers", "bucket_pgs"}
        return {name: value for name, value in self.__dict__.items() if name not in own}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)  # type: ignore[no-untyped-call]
        self._forget_order()
        self.create_hooks()

    def enable_allreduce(self) -> None:
        """Make later passes reduce gradients again."""
        self._disable_allreduce = False

    def disable_allreduce(self) -> None:
        """Make later passes leave each process's gradients unreduced."""
        self._disable_allreduce = True

    def create_hooks(self) -> None:
        """Register hooks that handle the gradient of each parameter as soon as it is ready."""
        for param in self.module.parameters():
            if param.requires_grad:
                param.register_post_accumulate_grad_hook(self._take)  # type: ignore[no-untyped-call]

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Return the module's output, and prepare for the backward pass."""
        result = self.module(*inputs, **kwargs)
        if not self._disable_allreduce:
            self._prepare()
        return result

    def _prepare(self) -> None:
        self.callback_queued = False
        if self.delay_allreduce:
            return
        params = [param for param in self.module.parameters() if param.requires_grad]
        same = len(params) == len(self.active_params) and all(map(_is, params, self.active_params))
        self.needs_refresh = self.needs_refresh or not same
        self.active_params = list[Tensor](params)
        self._reductions = Reductions(self)
        if self.needs_refresh:
            self._arrivals = Arrivals(params, self.message_size, self.allreduce_trigger_params)
        else:
            self._make_groups()
            self.allreduce_buffers = [None] * len(self._layout)
            self._buckets = Buckets(self._layout, params, self._reductions.launch)

    def _make_groups(self) -> None:
        if self.allreduce_communicators:
            self.bucket_pgs = list(self.allreduce_communicators[0])
        elif self.allreduce_different_streams and not self.bucket_pgs:
            self.bucket_pgs = [dist.new_group() for _ in range(self.num_allreduce_streams)]

    def _take(self, param: Tensor) -> None:
        if self._disable_allreduce or param.grad is None:
            return
        with marked(self, "allreduce_hook"):
            if not self.callback_queued:
                Variable._execution_engine.queue_callback(self._finish)
                self.callback_queued = True
            if self.delay_allreduce:
                return
            if self.needs_refresh and self._arrivals is not None:
                self._arrivals.add(param)
            elif self._buckets is not None:
                self._buckets.put(param, param.grad)

    def _finish(self) -> None:
        if self.delay_allreduce or self.needs_refresh:
            if self._arrivals is not None and self.needs_refresh:
                self._layout = self._arrivals.agreed()
                self._arrivals, self.needs_refresh = None, False
            self._reductions.of_everything(self.module.parameters())
        elif self._buckets is not None:
            self._buckets.check_all_reduced()
        with marked(self, "overlapping_backward_epilogue"):
            self._reductions.complete()


def _is(first: object, second: object) -> bool:
    return first is second
