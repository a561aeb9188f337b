"""One micro-batch after the other, where all layers are in one process."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from ...log_util import get_transformer_logger as get_transformer_logger
from ..utils import get_kth_microbatch as get_kth_microbatch
from ..utils import get_model_type as get_model_type
from ..utils import get_num_microbatches as get_num_microbatches
from ..utils import listify_model as listify_model
from .common import Batch as Batch
from .common import FwdStepFunc as FwdStepFunc
from .common import backward_step as backward_step
from .common import forward_step as forward_step


def forward_backward_no_pipelining(
    forward_step_func: FwdStepFunc,
    batch: Any,
    model: Any,
    *,
    forward_only: bool,
    dtype: torch.dtype | None = None,
    grad_scaler: Any = None,
    disable_autocast: bool = False,
    custom_sync_context_handler: Callable[[], Any] | None = None,
    **kwargs: Any,
) -> list[Tensor]:
    """Run all micro-batches of a step.

    Args:
        forward_step_func: As for ``forward_step``.
        batch: Tensors whose first dimension holds the samples of all micro-batches.
        model: The model, or a list of one.
        forward_only: Whether to leave the backward passes out.
        dtype: Autocast's dtype, if it is float16 or bfloat16.
        grad_scaler: Scales losses, or None.
        disable_autocast: Whether to leave autocast off.
        custom_sync_context_handler: Makes a context without communication, for all but the last.
        **kwargs: Not looked at.

    Returns:
        What is to be reported of each micro-batch.

    Raises:
        RuntimeError: If there are several models.
    """
    models = listify_model(model)
    if len(models) != 1:
        raise RuntimeError(f"`model` is expected be a `nn.Module`, but {type(model)}")
    own, losses = models[0], list[Tensor]()
    quiet: Callable[[], Any] = contextlib.nullcontext
    if custom_sync_context_handler is not None:
        quiet = custom_sync_context_handler
    elif isinstance(own, nn.parallel.DistributedDataParallel):
        quiet = own.no_sync

    def run(number: int) -> None:
        part = get_kth_microbatch(batch, number)
        output = forward_step(forward_step_func, part, own, None, losses, dtype, disable_autocast)
        if not forward_only:
            backward_step(None, output, None, get_model_type(own), grad_scaler=grad_scaler)

    count = get_num_microbatches()
    with quiet():
        for number in range(count - 1):
            run(number)
    run(count - 1)
    return losses
