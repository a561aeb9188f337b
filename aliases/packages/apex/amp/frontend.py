"""The functions for initialisation, and for saving and loading the state."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import torch

from ..kernels.original import recorded
from ._amp_state import _amp_state
from ._amp_state import maybe_print as maybe_print
from ._amp_state import warn_or_err as warn_or_err
from ._initialize import _initialize
from .properties import Properties as Properties
from .properties import opt_levels as opt_levels


@recorded(__name__)
def initialize(
    models: Any,
    optimizers: Any,
    enabled: bool,
    opt_level: str,
    cast_model_outputs: torch.dtype | None,
    num_losses: int,
    verbosity: int,
    min_loss_scale: float | None,
    max_loss_scale: float,
    **overrides: Any,
) -> Any:
    """Prepare models and optimizers for mixed precision, in place.

    Args:
        models: A model or a list of them, on the device, in float32 and not yet parallel.
        optimizers: An optimizer or a list of them, or None.
        enabled: Whether it has any effect.
        opt_level: O0 to O3, which set the defaults of the next five.
        cast_model_type: The dtype to which the model's weights and inputs are cast.
        patch_torch_functions: Whether functions cast their arguments (O1).
        keep_batchnorm_fp32: Whether batch normalisation stays float32 when the model is cast.
        master_weights: Whether the optimizers update float32 masters of the model's weights.
        loss_scale: A factor, or ``"dynamic"``.
        cast_model_outputs: The dtype to which the model's outputs are cast; float32 if the model is cast.
        num_losses: The number of losses with a scaler of their own.
        verbosity: 0 to print nothing.
        min_loss_scale: The minimum of a dynamic loss scale, as ``max_loss_scale`` is its maximum.

    Returns:
        Models and optimizers in the form in which they were passed; only the models without optimizers.

    Raises:
        RuntimeError: If the level does not exist, an option is incompatible with it, or a model or an
            optimizer is not in the required state.
        TypeError: If there are no models, or an optimizer has another type.
    """
    properties = _amp_state.opt_properties = Properties()
    _amp_state.verbosity = verbosity
    if not enabled:
        return models if optimizers is None else (models, optimizers)
    if opt_level not in opt_levels:
        raise RuntimeError(
            f"Unexpected optimization level {opt_level}. Options are 'O0', 'O1', 'O2', 'O3', "
            "with the letter O."
        )
    _amp_state.min_loss_scale, _amp_state.max_loss_scale = min_loss_scale, max_loss_scale
    properties.choose(opt_level, **overrides)
    maybe_print(f"Selected optimization level {opt_level}, with these options:", True)
    for name, value in vars(properties).items():
        maybe_print(f"{name:22} : {value}", True)
    return _initialize(models, optimizers, properties, num_losses, cast_model_outputs)


def state_dict(destination: Any = None) -> Any:
    """Return the state of every loss scaler, as ``loss_scaler0`` and so on.

    Args:
        destination: A mapping to fill; None for a new one.
    """
    destination = OrderedDict() if destination is None else destination
    for index, scaler in enumerate(_amp_state.loss_scalers):
        state = {"loss_scale": scaler.loss_scale(), "unskipped": scaler._unskipped}
        destination[f"loss_scaler{index}"] = state
    return destination


def load_state_dict(state_dict: Mapping[str, Any]) -> None:
    """Load the state of every loss scaler from the result of ``state_dict``.

    Raises:
        RuntimeError: If it contains other keys.
    """
    scalers = _amp_state.loss_scalers
    if len(state_dict) != len(scalers):
        counts = f"{len(state_dict)} entries, while {len(scalers)} loss_scalers are used"
        print(f"Warning: state_dict contains {counts}")
    known = [key for key in state_dict if "loss_scaler" in key]
    for scaler, key in zip(scalers, known, strict=False):
        scaler._loss_scale = state_dict[key]["loss_scale"]
        scaler._unskipped = state_dict[key]["unskipped"]
    unexpected = ", ".join(f'"{key}"' for key in state_dict if key not in known)
    if unexpected:
        raise RuntimeError(f"Error(s) in loading state_dict. Unexpected key(s) in state_dict: {unexpected}. ")
