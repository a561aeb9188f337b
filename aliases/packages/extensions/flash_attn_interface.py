"""flash_attn 3 under the name of its top-level module."""

from flash_attn._morph.hopper import *  # noqa: F403 (the interface)
from flash_attn._morph.hopper import __all__ as __all__
