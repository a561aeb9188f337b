"""Automatic mixed precision, at the levels O0 to O3."""

from ._amp_state import _amp_state as _amp_state
from ._amp_state import master_params as master_params
from .casts import float_function as float_function
from .casts import half_function as half_function
from .casts import init as init
from .casts import promote_function as promote_function
from .casts import register_float_function as register_float_function
from .casts import register_half_function as register_half_function
from .casts import register_promote_function as register_promote_function
from .frontend import initialize as initialize
from .frontend import load_state_dict as load_state_dict
from .frontend import state_dict as state_dict
from .handle import disable_casts as disable_casts
from .handle import scale_loss as scale_loss
