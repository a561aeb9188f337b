"""The extension of flash_attn 3: importing it registers the operators ``torch.ops.flash_attn_3.*``."""

import flash_attn._morph.hopper_extension as _extension  # noqa: F401 (for what it does)
