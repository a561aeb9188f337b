"""LAMB as apex's extension offers it: at once, in mixed precision, and in two stages."""

from __future__ import annotations

import torch
from torch import Tensor

from . import lamb
from .adam import DECOUPLED, Adam, round_into
from .lamb import LAMB, clipping
from .scaling import FLOAT_AND_HALF, FLOATS, Lists
from .tensor_lists import at_full_precision, check, check_dtype, full_precision


def multi_tensor_lamb(
    chunk_size: int,
    noop_flag: Tensor,
    lists: Lists,
    lr: float,
    beta1: float,
    beta2: float,
    epsilon: float,
    step: int,
    bias_correction: int,
    weight_decay: float,
    grad_averaging: int,
    mode: int,
    global_grad_norm: Tensor,
    max_grad_norm: float,
    use_nvlamb: bool | None = None,
    /,
) -> None:
    """Update parameters and the averages of both orders, whatever the flag says.

    apex leaves the updates in the gradients; here these stay as they are.

    Args:
        chunk_size: Of apex's kernels; nothing depends on it.
        noop_flag: Not looked at.
        lists: Gradients, parameters, averages, averages of squares.
        lr: The learning rate.
        beta1: The decay of the averages.
        beta2: The decay of the averages of squares.
        epsilon: Added to the denominator.
        step: The number of this step, from 1.
        bias_correction: Whether the averages are corrected for having started from zero.
        weight_decay: The factor of the decay.
        grad_averaging: Whether a gradient joins its average with the weight ``1 - beta1``, and not 1.
        mode: 0 adds the decay to the gradient, 1 to the update.
        global_grad_norm: The norm of all gradients, a float32 tensor of one element.
        max_grad_norm: What the global norm is clipped to.
        use_nvlamb: Whether tensors without weight decay are scaled by their norms too.

    Raises:
        RuntimeError: If the lists do not fit, or a dtype has no kernel.
    """
    check(lists, 4)
    check_dtype(lists[0][0], FLOAT_AND_HALF, "lamb_stage_1")
    adam = Adam(lr, beta1, beta2, epsilon, step, mode, bias_correction == 1, 0.0)
    options = LAMB(adam, weight_decay, grad_averaging == 1, bool(use_nvlamb))
    grads, params, averages, squares = lists
    lamb.update(grads, params, averages, squares, options, clipping(global_grad_norm, max_grad_norm))


def multi_tensor_lamb_mp(
    chunk_size: int,
    noop_flag: Tensor,
    lists: Lists,
    lr: Tensor,
    beta1: float,
    beta2: float,
    epsilon: float,
    step: Tensor,
    bias_correction: int,
    weight_decay: float,
    grad_averaging: int,
    mode: int,
    global_grad_norm: Tensor,
    max_grad_norm: Tensor,
    use_nvlamb: bool | None,
    found_inf: Tensor,
    inv_scale: Tensor,
    /,
) -> None:
    """Do what ``multi_tensor_lamb`` does, with all that changes from step to step in tensors.

    Args (the others are those of ``multi_tensor_lamb``):
        noop_flag: An int32 tensor of one element; where it is not 0, nothing is done.
        lists: As there, or with float32 masters for parameters and, in a fifth list, their copies in the
            gradients' dtype.
        lr: A float32 tensor.
        step: An int32 tensor.
        max_grad_norm: A float32 tensor, of the same scale as ``global_grad_norm``.
        found_inf: Not looked at: the flag says it.
        inv_scale: What the gradients are multiplied by; a float32 tensor.
    """
    check(lists, 5 if len(lists) == 5 else 4)
    check_dtype(lists[0][0], FLOATS if len(lists) == 5 else FLOAT_AND_HALF, "lamb_stage_1")
    adam = Adam(lr, beta1, beta2, epsilon, step, mode, bias_correction == 1, 0.0)
    options = LAMB(adam, weight_decay, grad_averaging == 1, bool(use_nvlamb))
    grads, params, averages, squares = lists[:4]
    divisor = clipping(global_grad_norm, max_grad_norm) / inv_scale.reshape(())
    skipped = (noop_flag != 0).float()
    lamb.update(grads, params, averages, squares, options, divisor, skipped)
    if len(lists) == 5:
        round_into(lists[4], params, skipped)


def multi_tensor_lamb_stage1_cuda(
    chunk_size: int,
    noop_flag: Tensor,
    lists: Lists,
    per_tensor_decay: Tensor,
    step: int,
    beta1: float,
    beta2: float,
    epsilon: float,
    global_grad_norm: Tensor,
    max_global_grad_norm: float,
    /,
) -> None:
    """Update the averages, and write what the parameters are to lose.

    Args:
        chunk_size: Of apex's kernels; nothing depends on it.
        noop_flag: Not looked at.
        lists: Gradients, parameters, averages, averages of squares, updates.
        per_tensor_decay: The factor of each tensor's weight decay, of shape (n,), float32.
        step: The number of this step, from 0.
        beta1: The decay of the averages.
        beta2: The decay of the averages of squares.
        epsilon: Added to the denominator.
        global_grad_norm: The norm of all gradients, a float32 tensor of one element.
        max_global_grad_norm: What the global norm is clipped to.

    Raises:
        RuntimeError: If the lists do not fit, or a dtype has no kernel.
    """
    check(lists, 5)
    check_dtype(lists[0][0], FLOAT_AND_HALF, "lamb_stage_1")
    grads, params, averages, squares, updates = lists
    options = LAMB(Adam(1.0, beta1, beta2, epsilon, step + 1, DECOUPLED, True, 0.0), 0.0, True, False)
    divisor = clipping(global_grad_norm, max_global_grad_norm)
    scaled = list(torch._foreach_div(full_precision(grads), divisor))
    full_params = full_precision(params)
    with at_full_precision(averages) as full_averages, at_full_precision(squares) as full_squares:
        found = lamb.directions(scaled, full_params, full_averages, full_squares, options, None)
    decays = torch._foreach_mul(full_params, list(per_tensor_decay.to(scaled[0].device).unbind()))
    torch._foreach_add_(found, decays)
    torch._foreach_copy_(list(updates), found)


def multi_tensor_lamb_stage2_cuda(
    chunk_size: int,
    noop_flag: Tensor,
    lists: Lists,
    per_tensor_param_norm: Tensor,
    per_tensor_update_norm: Tensor,
    lr: float,
    weight_decay: float,
    use_nvlamb: bool | None = None,
    /,
) -> None:
    """Take the updates off the parameters, each at the length that the norms of both call for.

    Args:
        chunk_size: Of apex's kernels; nothing depends on it.
        noop_flag: Not looked at.
        lists: Parameters and updates.
        per_tensor_param_norm: The norm of each parameter, of shape (n,), float32.
        per_tensor_update_norm: The norm of each update, of shape (n,), float32.
        lr: The learning rate.
        weight_decay: 0 where the norms do not count, unless ``use_nvlamb`` is set.
        use_nvlamb: Whether tensors without weight decay are scaled by their norms too.

    Raises:
        RuntimeError: If the lists do not fit, or a dtype has no kernel.
    """
    check(lists, 2)
    check_dtype(lists[0][0], FLOAT_AND_HALF, "lamb_stage_2")
    params, updates = lists
    lengths = torch.full_like(per_tensor_param_norm, lr)
    if use_nvlamb or weight_decay:
        lengths = lamb.trust(per_tensor_param_norm, per_tensor_update_norm, lr)
    with at_full_precision(params) as full_params:
        steps = torch._foreach_mul(full_precision(updates), list(lengths.unbind()))
        torch._foreach_sub_(full_params, steps)
