"""NVIDIA's apex on any accelerator, including features that newer releases have removed."""

from __future__ import annotations

import warnings
from typing import Any

import torch

from . import amp, fp16_utils, normalization, optimizers, parallel, transformer

__all__ = ["amp", "fp16_utils", "normalization", "optimizers", "parallel", "transformer"]


class DeprecatedFeatureWarning(FutureWarning):
    """A feature will be removed."""


def deprecated_warning(msg: str) -> None:
    """Warn in the first process."""
    distributed = torch.distributed
    if not distributed.is_initialized() or distributed.get_rank() == 0:
        warnings.warn(msg, DeprecatedFeatureWarning, stacklevel=2)


def check_cudnn_version_and_warn(global_option: str, required_cudnn_version: int) -> bool:
    """Return whether torch has the version of cuDNN that an option needs, and warn if not."""
    cudnn: Any = torch.backends.cudnn
    version = cudnn.version() if cudnn.is_available() else None
    if version is None or version < required_cudnn_version:
        found = "cuDNN is not available" if version is None else version
        message = f"`{global_option}` depends on cuDNN {required_cudnn_version} or later, but {found}"
        warnings.warn(message, stacklevel=2)
        return False
    return True
