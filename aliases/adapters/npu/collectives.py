"""The version of Ascend's collective library."""

from __future__ import annotations

import re

from morph.backends import vendor_module


def version() -> tuple[int, ...]:
    """Implement ``torch.cuda.nccl.version()`` with the version of HCCL.

    Programs require 2.10 or later before they send bfloat16, which every HCCL supports.

    Returns:
        Major, minor and patch.
    """
    text = vendor_module().utils.get_cann_version("HCCL")
    return tuple(int(number) for number in re.findall(r"\d+", text)[:3])
