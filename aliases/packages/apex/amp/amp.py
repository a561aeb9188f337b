"""The functions of amp, under the name of apex's module."""
# ruff: noqa: F401 (the imported names are part of the interface)

from ._amp_state import maybe_print, warn_or_err
from .casts import (
    float_function,
    half_function,
    init,
    promote_function,
    register_float_function,
    register_half_function,
    register_promote_function,
)
from .frontend import initialize, load_state_dict, opt_levels, state_dict
from .handle import AmpHandle
