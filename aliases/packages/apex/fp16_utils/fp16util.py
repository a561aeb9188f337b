"""Casts networks, and copies parameters and gradients between a model and its float32 masters."""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ..parallel.flat import unflatten

clip_grad_norm = torch.nn.utils.clip_grad_norm_


class tofp16(nn.Module):
    """Casts its input to float16."""

    def forward(self, input: Tensor) -> Tensor:
        """Return the input in float16."""
        return input.half()


def _keeps_float32(module: nn.Module) -> bool:
    return isinstance(module, nn.modules.batchnorm._BatchNorm) and module.affine


def BN_convert_float(module: nn.Module) -> nn.Module:
    """Cast all batch normalisation with parameters in ``module`` to float32, and return ``module``."""
    for each in filter(_keeps_float32, module.modules()):
        each.float()
    return module


def network_to_half(network: nn.Module) -> nn.Module:
    """Return the network in float16, except for batch normalisation, after a cast of its input."""
    return nn.Sequential(tofp16(), BN_convert_float(network.half()))


def convert_module(module: nn.Module, dtype: torch.dtype) -> None:
    """Cast the floating-point parameters, their gradients and the buffers of ``module`` itself."""
    for each in [*module.parameters(recurse=False), *module.buffers(recurse=False)]:
        if each.is_floating_point():
            each.data = each.data.to(dtype)
            if each.grad is not None:
                each.grad.data = each.grad.data.to(dtype)


def convert_network(network: nn.Module, dtype: torch.dtype) -> nn.Module:
    """Cast all modules in ``network`` except batch normalisation with parameters; return ``network``."""
    for module in network.modules():
        if not _keeps_float32(module):
            convert_module(module, dtype)
            if isinstance(module, nn.RNNBase):
                module.flatten_parameters()
    return network


class FP16Model(nn.Module):
    """A network in float16, except for batch normalisation, that casts its inputs."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = convert_network(network, dtype=torch.half)

    def forward(self, *inputs: Tensor) -> Any:
        """Return the network's output for the inputs in float16."""
        return self.network(*(each.half() for each in inputs))


def master_params_to_model_params(
    model_params: Sequence[Tensor], master_params: Sequence[Tensor], flat_master: bool = False
) -> None:
    """Copy the masters to the model's parameters, in their dtype; with ``flat_master``, all share one."""
    masters = unflatten(master_params[0].data, model_params) if flat_master else master_params
    for model, master in zip(model_params, masters, strict=False):
        model.data.copy_(master.data)


def to_python_float(t: Any) -> Any:
    """Return the number in a tensor of one element, or the first of a sequence."""
    return t.item() if hasattr(t, "item") else t[0]


def with_masters(
    params: list[Tensor], state: MutableMapping[Tensor, Any], masters: bool = True
) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
    """Sort the parameters that require gradients, and replace the float16 ones with float32 masters.

    Args:
        params: The parameters of a group; changed in place if there are masters.
        state: The optimizer's state, which masters inherit.
        masters: Whether there are masters.

    Returns:
        The float16 parameters, their masters, and the float32 parameters.

    Raises:
        TypeError: If a parameter is neither float16 nor float32 on the device.
    """
    sorts: tuple[list[Tensor], list[Tensor], list[Tensor]] = [], [], []
    for index, param in enumerate(params):
        if param.dtype not in (torch.float16, torch.float32) or not param.is_cuda:
            raise TypeError(
                "Optimizer's parameters must be either torch.cuda.FloatTensor or torch.cuda.HalfTensor. "
                f"Received {param.type()}"
            )
        if param.requires_grad:
            sorts[0 if param.dtype == torch.float16 else 2].append(param)
        if param.requires_grad and param.dtype == torch.float16 and masters:
            params[index] = param.detach().clone().float().requires_grad_()
            sorts[1].append(params[index])
            if param in state:
                state[params[index]] = state.pop(param)
    return sorts


def drop_gradients(params: Iterable[Tensor], to_none: bool) -> None:
    """Set gradients to None, or to zero."""
    for param in params:
        if to_none:
            param.grad = None
        elif param.grad is not None:
            param.grad = param.grad.detach_().zero_()
