"""The version of Ascend's collective library."""

from __future__ import annotations

import re

from morph.backends import vendor_module


def version() -> tuple[int, ...]:
    """Answer ``torch.cuda.nccl.version()`` with that of HCCL.

    Programs ask for 2.10 and later before they send bfloat16, which every HCCL does.

    Returns:
        Major, minor and patch.
    """
    told = vendor_module().utils.get_cann_version("HCCL")
    return tuple(int(number) for number in re.findall(r"\d+", told)[:3])
