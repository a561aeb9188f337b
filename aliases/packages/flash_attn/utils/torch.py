"""The decorators of autograd functions under autocast."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

deprecated = True


def custom_amp_decorator(dec: Callable[..., Any], cuda_amp_deprecated: bool) -> Callable[..., Any]:
    """Return ``dec`` for the device type ``"cuda"``, which the newer form takes as an argument."""

    def decorator(*args: Any, **kwargs: Any) -> Any:
        if cuda_amp_deprecated:
            kwargs["device_type"] = "cuda"
        return dec(*args, **kwargs)

    return decorator


custom_fwd = custom_amp_decorator(torch.amp.custom_fwd, deprecated)
custom_bwd = custom_amp_decorator(torch.amp.custom_bwd, deprecated)
