"""The changes that ``initialize`` makes to models and optimizers."""

from __future__ import annotations

import functools
import types
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from ..contrib.optimizers.fp16_optimizer import FP16_Optimizer as FP16_Optimizer_for_fused
from ..fp16_utils import FP16_Optimizer as FP16_Optimizer_general
from ..fp16_utils import convert_network as convert_network
from ..parallel import DistributedDataParallel as apex_DDP
from ..parallel.LARC import LARC as LARC
from ._amp_state import _amp_state
from ._amp_state import warn_or_err as warn_or_err
from ._process_optimizer import _process_optimizer
from .handle import disable_casts as disable_casts
from .properties import Properties
from .scaler import LossScaler as LossScaler

PARALLEL = {
    nn.parallel.DistributedDataParallel: "torch.nn.parallel.DistributedDataParallel",
    apex_DDP: "apex.parallel.DistributedDataParallel",
    nn.parallel.DataParallel: "torch.nn.parallel.DataParallel",
}
WRAPPED = {
    FP16_Optimizer_general: "apex.fp16_utils.FP16_Optimizer",
    FP16_Optimizer_for_fused: "apex.optimizers.FP16_Optimizer",
}


def to_type(dtype: torch.dtype, t: Any) -> Any:
    """Return ``t.to(dtype)``, or ``t`` itself if it is not floating-point."""
    if isinstance(t, Tensor):
        if not t.is_cuda:
            warnings.warn("An input tensor was not cuda.", stacklevel=3)
        return t.to(dtype) if t.is_floating_point() else t
    return t.to(dtype)


def applier(value: Any, fn: Callable[[Any], Any]) -> Any:
    """Return ``value`` with ``fn`` applied to every tensor in it, and to other objects with ``to``."""
    if isinstance(value, str) or type(value).__module__ == "numpy":
        return value
    if isinstance(value, Tensor) or hasattr(value, "to"):
        return fn(value)
    if isinstance(value, Mapping):
        return {applier(key, fn): applier(each, fn) for key, each in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(applier(each, fn) for each in value))
    if isinstance(value, Iterable):
        make: Any = type(value)
        return make(applier(each, fn) for each in value)
    return value


def check_models(models: Iterable[nn.Module]) -> None:
    """Check that no model is parallel already.

    Raises:
        RuntimeError: If one is parallel.
    """
    for model in models:
        for kind, name in PARALLEL.items():
            if isinstance(model, kind):
                raise RuntimeError(
                    f"Incoming model is an instance of {name}. Parallel wrappers should only be applied to "
                    "the model(s) AFTER \nthe model(s) have been returned from amp.initialize."
                )


def check_params_fp32(models: Iterable[nn.Module]) -> None:
    """Check that the floating-point parameters and buffers are float32 and on the device.

    Raises:
        RuntimeError: If one is not, unless ``hard_override`` is set.
    """
    for model in models:
        for kind, named in (("param", model.named_parameters()), ("buffer", model.named_buffers())):
            for name, tensor in named:
                if tensor.is_floating_point():
                    _check_fp32(kind, name, tensor)


def _check_fp32(kind: str, name: str, tensor: Tensor) -> None:
    found = f"Found {kind} {name} with type {tensor.type()}, expected torch.cuda.FloatTensor.\n"
    if tensor.dtype == torch.float16:
        warn_or_err(f"{found}Do not call .half() on a model before amp.initialize, whatever the level.")
    elif not tensor.is_cuda:
        warn_or_err(f"{found}Move a model to the device before amp.initialize: model.to('cuda').")


def check_optimizers(optimizers: Iterable[Any]) -> None:
    """Check that no optimizer scales losses itself.

    Raises:
        RuntimeError: If one does.
    """
    for optimizer in optimizers:
        for kind, name in WRAPPED.items():
            if isinstance(optimizer, kind):
                raise RuntimeError(
                    f"An incoming optimizer is an instance of {name}. The optimizer(s) passed to "
                    "amp.initialize() must be bare \ninstances of either ordinary Pytorch optimizers, or "
                    "Apex fused \noptimizers.\n"
                )


class O2StateDictHook:
    """Casts the float16 tensors of a state dict to float32, so that it does not depend on the level.

    Args:
        fn: Not called.
    """

    def __init__(self, fn: Callable[[Any], Any]) -> None:
        self.fn = fn

    def __call__(self, module: nn.Module, state_dict: Any, prefix: str, local_metadata: Any) -> None:
        for key, value in state_dict.items():
            if isinstance(value, Tensor) and value.dtype == torch.float16:
                state_dict[key] = value.to(torch.float32)


def _initialize(
    models: Any,
    optimizers: Any,
    properties: Properties,
    num_losses: int = 1,
    cast_model_outputs: torch.dtype | None = None,
) -> Any:
    given_models, given_optimizers = models, optimizers
    optimizers = _optimizers(optimizers)
    models = _models(models)
    check_models(models)
    if not _amp_state.allow_incoming_model_not_fp32:
        check_params_fp32(models)
    if properties.cast_model_type:
        _cast_models(models, optimizers, properties, cast_model_outputs or torch.float32)
    elif cast_model_outputs is not None:
        for model in models:
            _patch_forward(model, lambda value: value, functools.partial(to_type, cast_model_outputs))
    for optimizer in optimizers:
        _process_optimizer(optimizer, properties)
    _amp_state.loss_scalers = [_new_scaler(properties) for _ in range(num_losses)]
    if properties.patch_torch_functions:
        _switch_casts_on(optimizers, properties)
    if given_optimizers is None:
        return given_models
    return given_models, given_optimizers


def _optimizers(given: Any) -> list[Any]:
    if isinstance(given, torch.optim.Optimizer | LARC):
        return [given]
    if given is None or isinstance(given, list):
        check_optimizers(given or [])
        return given or []
    check_optimizers([given])
    raise TypeError("optimizers must be either a single optimizer or a list of optimizers.")


def _models(given: Any) -> list[nn.Module]:
    if isinstance(given, nn.Module):
        return [given]
    if isinstance(given, list):
        return given
    raise TypeError("models must be either a single model or a list of models.")


def _cast_models(
    models: list[nn.Module], optimizers: list[Any], properties: Properties, outputs: torch.dtype
) -> None:
    cast_input = functools.partial(to_type, properties.cast_model_type)
    for model in models:
        if properties.keep_batchnorm_fp32:
            convert_network(model, properties.cast_model_type)
        else:
            model.to(properties.cast_model_type)
        _patch_forward(model, cast_input, functools.partial(to_type, outputs))
        for module in model.modules():
            hook = O2StateDictHook(functools.partial(to_type, torch.float32))
            module._register_state_dict_hook(hook)  # type: ignore[no-untyped-call]
    for optimizer in optimizers:
        optimizer.load_state_dict(optimizer.state_dict())  # casts the state as the parameters were cast


def _patch_forward(
    model: nn.Module, cast_input: Callable[[Any], Any], cast_output: Callable[[Any], Any]
) -> None:
    own_forward = model.forward

    @functools.wraps(own_forward)
    def forward(*args: Any, **kwargs: Any) -> Any:
        output = own_forward(*applier(args, cast_input), **applier(kwargs, cast_input))
        return applier(output, cast_output)

    model.forward = forward


def _new_scaler(properties: Properties) -> LossScaler:
    limits = {"min_loss_scale": _amp_state.min_loss_scale, "max_loss_scale": _amp_state.max_loss_scale}
    return LossScaler(properties.loss_scale, **limits)  # type: ignore[arg-type]


def _switch_casts_on(optimizers: list[Any], properties: Properties) -> None:
    from .amp import init

    init(loss_scale=properties.loss_scale, verbose=_amp_state.verbosity == 2)
    for optimizer in optimizers:
        own_step = optimizer.step

        def step(self: Any, *args: Any, own_step: Any = own_step, **kwargs: Any) -> Any:
            with disable_casts():
                return own_step(*args, **kwargs)

        optimizer.step = types.MethodType(step, optimizer)
