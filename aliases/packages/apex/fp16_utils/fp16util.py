"""Casts networks, and copies parameters and gradients between a model and its float32 masters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ..kernels.flattening import flatten, unflatten

TORCH_MAJOR, TORCH_MINOR = (int(part) for part in torch.__version__.split(".")[:2])

clip_grad_norm = torch.nn.utils.clip_grad_norm_


class tofp16(nn.Module):
    """Casts its input to float16."""

    def __init__(self) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        """Return the input in float16."""
        return input.half()


def BN_convert_float(module: nn.Module) -> nn.Module:
    """Cast all batch normalisation with parameters in ``module`` to float32, and return ``module``."""
    if isinstance(module, nn.modules.batchnorm._BatchNorm) and module.affine:
        module.float()
    for child in module.children():
        BN_convert_float(child)
    return module


def network_to_half(network: nn.Module) -> nn.Module:
    """Return the network in float16, except for batch normalisation, after a cast of its input."""
    return nn.Sequential(tofp16(), BN_convert_float(network.half()))


def convert_module(module: nn.Module, dtype: torch.dtype) -> None:
    """Cast the floating-point parameters, their gradients and the buffers of ``module`` itself."""
    for param in module.parameters(recurse=False):
        if param.is_floating_point():
            param.data = param.data.to(dtype)
            if param.grad is not None:
                param.grad.data = param.grad.data.to(dtype)
    for buffer in module.buffers(recurse=False):
        if buffer.is_floating_point():
            buffer.data = buffer.data.to(dtype)


def convert_network(network: nn.Module, dtype: torch.dtype) -> nn.Module:
    """Cast all modules in ``network`` except batch normalisation with parameters; return ``network``."""
    for module in network.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm) and module.affine:
            continue
        convert_module(module, dtype)
        if isinstance(module, nn.RNNBase):
            module.flatten_parameters()
    return network


class FP16Model(nn.Module):
    """A network in float16, except for batch normalisation, that casts its inputs.

    Args:
        network: The network, which is cast in place.
    """

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = convert_network(network, dtype=torch.half)

    def forward(self, *inputs: Tensor) -> Any:
        """Return the network's output for the inputs in float16."""
        return self.network(*(each.half() for each in inputs))


def backwards_debug_hook(grad: Tensor) -> None:
    """Raise an error for a gradient: a hook for masters, which should get none in a backward pass.

    Raises:
        RuntimeError: Always.
    """
    raise RuntimeError("master_params recieved a gradient in the backward pass!")


def prep_param_lists(model: nn.Module, flat_master: bool = False) -> tuple[list[nn.Parameter], list[Tensor]]:
    """Create float32 masters of a model's parameters.

    Args:
        model: The model.
        flat_master: Whether all parameters, which must have one dtype, share one master.

    Returns:
        The parameters that require gradients, and their masters.
    """
    model_params = [param for param in model.parameters() if param.requires_grad]
    if not flat_master:
        masters = [param.detach().clone().float().requires_grad_() for param in model_params]
        return model_params, list[Tensor](masters)
    flat = nn.Parameter(flatten([param.data for param in model_params]).float())
    flat.grad = torch.empty_like(flat)
    return model_params, [flat]


def model_grads_to_master_grads(
    model_params: Sequence[Tensor], master_params: Sequence[Tensor], flat_master: bool = False
) -> None:
    """Copy the model's gradients to its masters.

    Args:
        model_params: The model's parameters.
        master_params: Their masters.
        flat_master: Whether all parameters share one master.
    """
    if flat_master:
        flat = flatten([param.grad.data for param in model_params if param.grad is not None])
        assert master_params[0].grad is not None
        master_params[0].grad.data.copy_(flat)
        return
    for model, master in zip(model_params, master_params, strict=False):
        if model.grad is None:
            master.grad = None
        elif master.grad is None:
            master.grad = model.grad.data.to(master.dtype, copy=True)
        else:
            master.grad.data.copy_(model.grad.data)


def master_params_to_model_params(
    model_params: Sequence[Tensor], master_params: Sequence[Tensor], flat_master: bool = False
) -> None:
    """Copy the masters to the model's parameters, in their dtype; like ``model_grads_to_master_grads``."""
    masters: Sequence[Tensor] = master_params
    if flat_master:
        masters = unflatten(master_params[0].data, model_params)
    for model, master in zip(model_params, masters, strict=False):
        model.data.copy_(master.data)


def to_python_float(t: Any) -> Any:
    """Return the number in a tensor of one element, or the first of a sequence."""
    return t.item() if hasattr(t, "item") else t[0]
