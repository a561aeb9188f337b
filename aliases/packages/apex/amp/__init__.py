"""Automatic mixed precision, at the levels O0 to O3."""
# ruff: noqa: F401 (the imported names are part of the interface)

from ._amp_state import _amp_state, master_params
from .casts import (
    float_function,
    half_function,
    init,
    promote_function,
    register_float_function,
    register_half_function,
    register_promote_function,
)
from .frontend import initialize, load_state_dict, state_dict
from .handle import disable_casts, scale_loss
