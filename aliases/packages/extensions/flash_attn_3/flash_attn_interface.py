"""flash_attn 3 under its name in its own package."""

import flash_attn_interface as _flash_attn_interface  # noqa: F401 (a name of the original)
from flash_attn_interface import *  # noqa: F403 (the interface)
