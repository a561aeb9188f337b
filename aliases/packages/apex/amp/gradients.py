"""Handles the gradients of an optimizer's parameters before and after a backward pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from .scaler import LossScaler, Scales


def _set_aside(params: Sequence[Tensor], stashed: list[Tensor | None]) -> None:
    stashed[:] = [param.grad for param in params]
    for param in params:
        param.grad = None


def prepare_backward_with_master_weights(self: Any) -> None:
    """Stash the gradients of float32 parameters, and drop those of float16 ones, which have masters."""
    stash = self._amp_stash
    self._amp_lazy_init()
    for param in stash.all_fp16_params:
        param.grad = None
    _set_aside(stash.all_fp32_from_fp32_params, stash.all_fp32_from_fp32_grad_stash)


def prepare_backward_no_master_weights(self: Any) -> None:
    """Stash all gradients."""
    stash = self._amp_stash
    self._amp_lazy_init()
    _set_aside(stash.all_fp16_params, stash.all_fp16_grad_stash)
    _set_aside(stash.all_fp32_params, stash.all_fp32_grad_stash)


def prepare_backward_with_master_weights_FusedSGD(self: Any) -> None:
    """Stash all gradients if they are not materialised, else do the same as for other optimizers."""
    if self.materialize_master_grads:
        prepare_backward_with_master_weights(self)
        return
    stash = self._amp_stash
    self._amp_lazy_init()
    _set_aside(stash.all_fp16_params, stash.all_fp16_grad_stash)
    _set_aside(stash.all_fp32_from_fp32_params, stash.all_fp32_from_fp32_grad_stash)


prepare_backward_no_master_weights_FusedSGD = prepare_backward_no_master_weights


def post_backward_models_are_masters(
    scaler: LossScaler,
    params: Sequence[Tensor],
    stashed_grads: list[Tensor | None],
    scale_override: Scales | None = None,
) -> None:
    """Unscale the gradients of parameters in place, and add the stashed ones.

    Args:
        scaler: The scaler of the loss.
        params: The parameters.
        stashed_grads: The stashed gradients; emptied.
        scale_override: The factors of the new gradients, of the stashed ones and of the sum.
    """
    given, _, wanted = scales = scale_override or (scaler.loss_scale(), 1.0, 1.0)
    new: list[Tensor] = []
    both: list[tuple[Tensor, Tensor]] = []
    for param, stashed in zip(params, stashed_grads, strict=True):
        if param.grad is None:
            param.grad = stashed
        elif stashed is None:
            new.append(param.grad)
        else:
            both.append((param.grad, stashed))
    stashed_grads[:] = [None] * len(stashed_grads)
    scaler.unscale(new, new, None, models_are_masters=True, scale_override=given / wanted)
    grads = [grad for grad, _ in both]
    scaler.unscale_with_stashed(grads, [stashed for _, stashed in both], grads, scale_override=scales)


def post_backward_with_master_weights(self: Any, scaler: LossScaler) -> None:
    """Unscale the model's gradients into the masters', and those of float32 parameters in place."""
    stash = self._amp_stash
    self._amp_lazy_init()
    pairs = zip(stash.all_fp16_params, stash.all_fp32_from_fp16_params, strict=True)
    with_grads = [(model, master) for model, master in pairs if model.grad is not None]
    new = [(model.grad, master) for model, master in with_grads if master.grad is None]
    more = [(model.grad, master.grad) for model, master in with_grads if master.grad is not None]
    for _, master in new:
        master.grad = torch.empty_like(master)
    scaler.unscale([grad for grad, _ in new], [master.grad for _, master in new], scaler.loss_scale())
    sums = [grad for _, grad in more]
    scaler.unscale_with_stashed([grad for grad, _ in more], sums, sums)
    post_backward_models_are_masters(
        scaler, stash.all_fp32_from_fp32_params, stash.all_fp32_from_fp32_grad_stash
    )


def post_backward_no_master_weights(self: Any, scaler: LossScaler) -> None:
    """Unscale all gradients in place, and add the stashed ones."""
    stash = self._amp_stash
    self._amp_lazy_init()
    post_backward_models_are_masters(scaler, stash.all_fp16_params, stash.all_fp16_grad_stash)
    post_backward_models_are_masters(scaler, stash.all_fp32_params, stash.all_fp32_grad_stash)


def post_backward_with_master_weights_FusedSGD(self: Any, scaler: LossScaler) -> None:
    """Leave the scale to the optimizer if gradients are not materialised, else do the same as for others."""
    if self.materialize_master_grads:
        post_backward_with_master_weights(self, scaler)
        return
    stash = self._amp_stash
    self._amp_lazy_init()
    given = scaler.loss_scale()
    wanted = min(given, self.most_recent_scale) if self.scale_set_by_backward else given
    scales = given, self.most_recent_scale, wanted
    for params, stashed in (
        (stash.all_fp16_params, stash.all_fp16_grad_stash),
        (stash.all_fp32_from_fp32_params, stash.all_fp32_from_fp32_grad_stash),
    ):
        post_backward_models_are_masters(scaler, params, stashed, scales)
    self.most_recent_scale = wanted
    self.scale_set_by_backward = True


post_backward_no_master_weights_FusedSGD = post_backward_no_master_weights
