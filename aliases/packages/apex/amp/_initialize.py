"""The changes that ``initialize`` makes to models and optimizers."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from ..fp16_utils.fp16_optimizer import FP16_Optimizer
from ..fp16_utils.fp16util import convert_network
from ..kernels.loss_scaler import LossScaler
from ..parallel.LARC import LARC
from ._amp_state import _amp_state
from ._amp_state import warn_or_err as warn_or_err
from ._process_optimizer import _process_optimizer
from .casts import init
from .handle import disable_casts
from .properties import Properties


def to_type(dtype: torch.dtype, t: Any) -> Any:
    """Return the tensors in nested containers, and other objects with ``to``, cast to a floating dtype."""

    def cast(leaf: Any) -> Any:
        if isinstance(leaf, Tensor):
            return leaf.to(dtype) if leaf.is_floating_point() else leaf
        return leaf.to(dtype) if hasattr(leaf, "to") else leaf

    return pytree.tree_map(cast, t)


def check_models(models: Iterable[nn.Module]) -> None:
    """Check that no model is parallel already.

    Raises:
        RuntimeError: If one is parallel.
    """
    for model in models:
        if isinstance(model, nn.parallel.DistributedDataParallel | nn.parallel.DataParallel):
            raise RuntimeError(
                f"Incoming model is an instance of {_name(model)}. Parallel wrappers should only be applied "
                "to the model(s) AFTER \nthe model(s) have been returned from amp.initialize."
            )


def check_params_fp32(models: Iterable[nn.Module]) -> None:
    """Check that the floating-point parameters and buffers are float32 and on the device.

    Raises:
        RuntimeError: If one is not, unless ``hard_override`` is set.
    """
    for model in models:
        for kind, named in (("param", model.named_parameters()), ("buffer", model.named_buffers())):
            for name, tensor in named:
                found = f"Found {kind} {name} with type {tensor.type()}, expected torch.cuda.FloatTensor.\n"
                if tensor.dtype == torch.float16:
                    warn_or_err(f"{found}Do not call .half() on a model before amp.initialize.")
                elif tensor.is_floating_point() and not tensor.is_cuda:
                    warn_or_err(f"{found}Move a model to the device before amp.initialize: model.to('cuda').")


def _name(value: object) -> str:
    return f"{type(value).__module__.rpartition('.')[0]}.{type(value).__name__}"


def _initialize(
    models: Any,
    optimizers: Any,
    properties: Properties,
    num_losses: int = 1,
    cast_model_outputs: torch.dtype | None = None,
) -> Any:
    every_optimizer = _listed(
        [] if optimizers is None else optimizers, torch.optim.Optimizer | LARC | FP16_Optimizer, "optimizers"
    )
    every_model = _listed(models, nn.Module, "models")
    if any(isinstance(each, FP16_Optimizer) for each in every_optimizer):
        raise RuntimeError("amp.initialize() takes no apex.fp16_utils.FP16_Optimizer, but the one inside it.")
    check_models(every_model)
    if not _amp_state.allow_incoming_model_not_fp32:
        check_params_fp32(every_model)
    for model in every_model:
        _cast(model, properties, cast_model_outputs)
    for optimizer in every_optimizer:
        if properties.cast_model_type:
            optimizer.load_state_dict(optimizer.state_dict())  # casts the state as the parameters were cast
        _process_optimizer(optimizer, properties)
    limits = _amp_state.min_loss_scale, _amp_state.max_loss_scale
    _amp_state.loss_scalers = [_new_scaler(properties, *limits) for _ in range(num_losses)]
    if properties.patch_torch_functions:
        init()
        for optimizer in every_optimizer:
            optimizer.step = _without_casts(optimizer.step)
    return models if optimizers is None else (models, optimizers)


def _listed(given: Any, kind: Any, name: str) -> list[Any]:
    if isinstance(given, list):
        return given
    if not isinstance(given, kind):
        raise TypeError(f"{name} must be either a single one or a list of {name}.")
    return [given]


def _cast(model: nn.Module, properties: Properties, outputs: torch.dtype | None) -> None:
    dtype = properties.cast_model_type
    if not dtype:
        if outputs is not None:
            _patch_forward(model, lambda inputs: inputs, functools.partial(to_type, outputs))
        return
    if properties.keep_batchnorm_fp32:
        convert_network(model, dtype)
    else:
        model.to(dtype)
    _patch_forward(
        model, functools.partial(to_type, dtype), functools.partial(to_type, outputs or torch.float32)
    )
    for module in model.modules():
        module._register_state_dict_hook(_in_float32)  # type: ignore[no-untyped-call]


def _in_float32(module: nn.Module, state_dict: Any, prefix: str, local_metadata: Any) -> None:
    """Cast the float16 tensors of a state dict, so that it does not depend on the level."""
    for key, value in state_dict.items():
        if isinstance(value, Tensor) and value.dtype == torch.float16:
            state_dict[key] = value.to(torch.float32)


def _patch_forward(
    model: nn.Module, cast_input: Callable[[Any], Any], cast_output: Callable[[Any], Any]
) -> None:
    own_forward = model.forward

    @functools.wraps(own_forward)
    def forward(*args: Any, **kwargs: Any) -> Any:
        return cast_output(own_forward(*cast_input(args), **cast_input(kwargs)))

    model.forward = forward


def _new_scaler(properties: Properties, least: float | None, most: float) -> LossScaler:
    return LossScaler(properties.loss_scale, min_loss_scale=least, max_loss_scale=most)


def _without_casts(own_step: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(own_step)
    def step(*args: Any, **kwargs: Any) -> Any:
        with disable_casts():
            return own_step(*args, **kwargs)

    return step
