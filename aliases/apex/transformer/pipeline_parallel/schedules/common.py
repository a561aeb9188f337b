"""The passes of one micro-batch, and the making of a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from ....normalization import FusedLayerNorm as FusedLayerNorm
from ... import parallel_state as parallel_state
from ...enums import ModelType as ModelType
from ...log_util import get_transformer_logger as get_transformer_logger
from ...tensor_parallel.attributes import set_defaults_if_not_set_tensor_model_parallel_attributes
from ..utils import get_model_type as get_model_type
from ..utils import get_num_microbatches as get_num_microbatches
from ..utils import listify_model as listify_model
from ..utils import unwrap_model as unwrap_model

Batch = Tensor | list[Tensor] | tuple[Tensor, ...]
LossFunc = Callable[[Tensor], Tensor]
FwdStepFunc = Callable[[Any, nn.Module], tuple[Tensor, LossFunc]]


def build_model(
    model_provider_func: Callable[..., nn.Module],
    wrap_with_ddp: bool = True,
    virtual_pipeline_model_parallel_size: int | None = None,
    model_type: ModelType = ModelType.encoder_or_decoder,
    *args: Any,
    **kwargs: Any,
) -> list[nn.Module]:
    """Make this process's part of a model.

    Args:
        model_provider_func: Makes it; called with ``args``, ``kwargs``, and whether it has the first and the
            last stage, as ``pre_process`` and ``post_process``.
        wrap_with_ddp: Whether to wrap it in torch's data parallelism over the data-parallel group.
        virtual_pipeline_model_parallel_size: How many parts of the model each process has.
        model_type: What the model consists of.
        *args: For ``model_provider_func``.
        **kwargs: For ``model_provider_func``.

    Returns:
        The parts, on the device.
    """
    parts = []
    for rank in range(virtual_pipeline_model_parallel_size or 1):
        if virtual_pipeline_model_parallel_size is not None:
            parallel_state.set_virtual_pipeline_model_parallel_rank(rank)
        ends = {
            "pre_process": parallel_state.is_pipeline_first_stage(),
            "post_process": parallel_state.is_pipeline_last_stage(),
        }
        part = model_provider_func(*args, **{**kwargs, **ends})
        part.model_type = model_type  # type: ignore[assignment]
        for param in part.parameters():
            set_defaults_if_not_set_tensor_model_parallel_attributes(param)
        parts.append(part.cuda())
    if not wrap_with_ddp:
        return parts
    group = parallel_state.get_data_parallel_group()
    return [nn.parallel.DistributedDataParallel(part, process_group=group) for part in parts]


# private to apex, but trainers of its time call it
def _get_params_for_weight_decay_optimization(
    model: nn.Module | list[nn.Module],
    *,
    no_weight_decay_modules: tuple[type[nn.Module], ...] = (FusedLayerNorm,),
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return groups for an optimizer: what decays, and what does not, biases and norms."""
    decaying: list[nn.Parameter] = []
    others: list[nn.Parameter] = []
    for module in (inner for part in listify_model(model) for inner in part.modules()):
        for name, param in module.named_parameters(recurse=False):
            left_out = name == "bias" or isinstance(module, no_weight_decay_modules)
            (others if left_out else decaying).append(param)
    return {"params": decaying}, {"params": others, "weight_decay": 0.0}


def forward_step(
    forward_step_func: FwdStepFunc,
    batch: Any,
    model: nn.Module,
    input_tensor: Any,
    losses_reduced: list[Tensor],
    dtype: torch.dtype | None,
    disable_autocast: bool = False,
    checkpoint_activations_micro_batch: bool | None = None,
) -> Tensor:
    """Run a model on a micro-batch.

    Args:
        forward_step_func: Called with the micro-batch and the model; returns the output, and a function of
            it that returns the loss and what is to be reported.
        batch: The micro-batch.
        model: The model.
        input_tensor: What the stage before gives, which ``set_input_tensor`` of the model takes; or None.
        losses_reduced: Takes what is to be reported.
        dtype: Autocast's dtype, if it is float16 or bfloat16.
        disable_autocast: Whether to leave autocast off.
        checkpoint_activations_micro_batch: Not looked at.

    Returns:
        The loss, divided by the number of micro-batches, in the last stage; else the output.
    """
    inner = unwrap_model(model)
    if input_tensor is not None:
        inner.set_input_tensor(input_tensor)
    lowered = not disable_autocast and dtype in (torch.half, torch.bfloat16)
    with torch.autocast("cuda", dtype=dtype if lowered else torch.half, enabled=lowered):
        output, loss_func = forward_step_func(batch, model)
        if parallel_state.is_pipeline_last_stage():
            loss, reported = loss_func(output)
            output = loss / get_num_microbatches()
            losses_reduced.append(reported)
    return output


def backward_step(
    input_tensor: Any,
    output_tensor: Tensor,
    output_tensor_grad: Tensor | None,
    model_type: ModelType,
    *,
    grad_scaler: Any = None,
    deallocate_pipeline_outputs: bool = False,
) -> Tensor | None:
    """Do the backward pass of a micro-batch.

    Args:
        input_tensor: What the stage before gave, or None.
        output_tensor: What ``forward_step`` returned.
        output_tensor_grad: Its gradient from the stage after, or None in the last stage.
        model_type: What the model consists of.
        grad_scaler: Scales the loss in the last stage, or None.
        deallocate_pipeline_outputs: Not looked at.

    Returns:
        The gradient of ``input_tensor``, if there is one.
    """
    if input_tensor is not None:
        input_tensor.retain_grad()
    if grad_scaler is not None and output_tensor_grad is None:
        output_tensor = grad_scaler.scale(output_tensor)
    torch.autograd.backward(output_tensor, output_tensor_grad)
    return None if input_tensor is None else input_tensor.grad
