"""The functions of amp, under the name of apex's module."""

from ._amp_state import maybe_print as maybe_print
from ._amp_state import warn_or_err as warn_or_err
from .casts import float_function as float_function
from .casts import half_function as half_function
from .casts import init as init
from .casts import promote_function as promote_function
from .casts import register_float_function as register_float_function
from .casts import register_half_function as register_half_function
from .casts import register_promote_function as register_promote_function
from .frontend import initialize as initialize
from .frontend import load_state_dict as load_state_dict
from .frontend import opt_levels as opt_levels
from .frontend import state_dict as state_dict
from .handle import AmpHandle as AmpHandle
