"""Adam's operations, as amp_C has them."""

from __future__ import annotations

import torch
from torch import Tensor

from .adam import Adam, round_into, update
from .scaling import FLOATS, Lists
from .tensor_lists import check, check_dtype


def multi_tensor_adam(
    chunk_size: int,
    noop_flag: Tensor,
    lists: Lists,
    lr: float,
    beta1: float,
    beta2: float,
    epsilon: float,
    step: int,
    mode: int,
    bias_correction: int,
    weight_decay: float,
    /,
) -> None:
    """Update gradients, parameters, and the averages of both orders, whatever the flag says.

    Args:
        chunk_size: Of apex's kernels; nothing depends on it.
        noop_flag: Not looked at: infinities and NaNs go through to the parameters.
        lists: Gradients, parameters, averages, averages of squares.
        lr: The learning rate.
        beta1: The decay of the averages.
        beta2: The decay of the averages of squares.
        epsilon: Added to the denominator.
        step: The number of this step, from 1.
        mode: 0 adds the decay to the gradient, 1 to the update.
        bias_correction: Whether the averages are corrected for having started from zero.
        weight_decay: The factor of the decay.

    Raises:
        RuntimeError: If the lists do not fit, or a dtype has no kernel.
    """
    check(lists, 4)
    check_dtype(lists[0][0], (*FLOATS, torch.float64), "adam")
    options = Adam(lr, beta1, beta2, epsilon, step, mode, bias_correction == 1, weight_decay)
    grads, params, averages, squares = lists
    update(grads, params, averages, squares, options)


def multi_tensor_adam_capturable(
    chunk_size: int,
    noop_flag: Tensor,
    lists: Lists,
    lr: Tensor,
    beta1: float,
    beta2: float,
    epsilon: float,
    step: Tensor,
    mode: int,
    bias_correction: int,
    weight_decay: float,
    inv_scale: Tensor,
    /,
) -> None:
    """Do what ``multi_tensor_adam`` does, with all that changes from step to step in tensors.

    Args (the others are those of ``multi_tensor_adam``):
        noop_flag: An int32 tensor of one element; where it is 1, nothing is done.
        lists: Gradients, parameters, averages, averages of squares.
        lr: A float32 tensor.
        step: An int32 tensor.
        inv_scale: What the gradients are multiplied by first, in place; a float32 tensor.
    """
    check(lists, 4)
    check_dtype(lists[0][0], (*FLOATS, torch.float64), "adam")
    options = Adam(lr, beta1, beta2, epsilon, step, mode, bias_correction == 1, weight_decay)
    grads, params, averages, squares = lists
    found_inf = (noop_flag == 1).float()
    update(grads, params, averages, squares, options, inv_scale.reciprocal(), found_inf)


def multi_tensor_adam_capturable_master(
    chunk_size: int,
    noop_flag: Tensor,
    lists: Lists,
    lr: Tensor,
    beta1: float,
    beta2: float,
    epsilon: float,
    step: Tensor,
    mode: int,
    bias_correction: int,
    weight_decay: float,
    inv_scale: Tensor,
    /,
) -> None:
    """Do what ``multi_tensor_adam_capturable`` does to float32 masters, and round them to the parameters.

    Args (the others are those of ``multi_tensor_adam``):
        noop_flag: An int32 tensor of one element; where it is 1, nothing is done.
        lists: Gradients, parameters, averages, averages of squares, masters.
        lr: A float32 tensor.
        step: An int32 tensor.
        inv_scale: What the gradients are multiplied by first, in place; a float32 tensor.
    """
    check(lists, 5)
    check_dtype(lists[0][0], (*FLOATS, torch.float64), "adam")
    grads, params, averages, squares, masters = lists
    options = Adam(lr, beta1, beta2, epsilon, step, mode, bias_correction == 1, weight_decay)
    found_inf = (noop_flag == 1).float()
    update(grads, masters, averages, squares, options, inv_scale.reciprocal(), found_inf)
    round_into(params, masters, found_inf)
