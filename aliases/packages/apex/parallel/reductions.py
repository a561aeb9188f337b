"""The reductions of gradients in one backward pass."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from .flat import flatten, split_half_float_double, unflatten


@dataclasses.dataclass(frozen=True, slots=True)
class Reduction:
    """The current reduction.

    Attributes:
        number: The number of the bucket.
        flat: The gradients' elements in one tensor.
        reduced: The same tensor, or its float32 copy.
        grads: The gradients that receive the result.
        work: The work to wait for.
    """

    number: int
    flat: Tensor
    reduced: Tensor
    grads: list[Tensor]
    work: Any


class Reductions:
    """The reductions of one backward pass: started as gradients become ready, completed at its end.

    Args:
        wrapper: The module with the options and the buffers.
    """

    def __init__(self, wrapper: Any) -> None:
        self._wrapper = wrapper
        self._started: list[Reduction] = []

    def of_everything(self, params: Iterable[Tensor]) -> None:
        """Start reducing all gradients, those of one dtype at once."""
        buckets = split_half_float_double([param.grad for param in params if param.grad is not None])
        self._wrapper.allreduce_buffers = [None] * len(buckets)
        for number, bucket in enumerate(buckets):
            self.launch(number, bucket)

    def launch(self, number: int, grads: list[Tensor]) -> None:
        """Start reducing the gradients of the bucket ``number``."""
        wrapper = self._wrapper
        with torch.no_grad(), marked(wrapper, "allreduce_bucket"):
            flat = flatten([grad.detach() for grad in grads])
            reduced = flat.float() if wrapper.allreduce_always_fp32 else flat
            if wrapper.gradient_predivide_factor != 1.0:
                reduced.mul_(1.0 / wrapper.gradient_predivide_factor)
            groups = wrapper.bucket_pgs
            group = groups[number % len(groups)] if groups else None
            work = dist.all_reduce(reduced, group=group, async_op=True)
            self._started.append(Reduction(number, flat, reduced, grads, work))

    @torch.no_grad()
    def complete(self) -> None:
        """Wait for all reductions, and write the results to the gradients."""
        for reduction in self._started:
            reduction.work.wait()
            self._write(reduction)
        self._started = []

    def _write(self, reduction: Reduction) -> None:
        wrapper, flat, grads = self._wrapper, reduction.flat, reduction.grads
        if wrapper.gradient_average:
            reduction.reduced.mul_(wrapper.gradient_predivide_factor / wrapper.world_size)
        if flat is not reduction.reduced:
            flat.copy_(reduction.reduced)
        views = list(unflatten(flat, grads))
        if not wrapper.retain_allreduce_buffers:
            torch._foreach_copy_([grad.detach() for grad in grads], views)
            return
        wrapper.allreduce_buffers[reduction.number] = flat
        for grad, view in zip(grads, views, strict=True):
            grad.data = view


def marked(wrapper: Any, name: str) -> contextlib.AbstractContextManager[Any]:
    """Return a profiler range if the wrapper marks them."""
    return torch.cuda.nvtx.range(name) if wrapper.prof else contextlib.nullcontext()
