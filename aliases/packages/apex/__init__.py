"""NVIDIA's apex on any accelerator, including features that newer releases have removed."""

from __future__ import annotations

import logging
import warnings
from typing import Any

import torch

from . import amp, fp16_utils, normalization, optimizers, parallel, transformer
from .transformer.parallel_state import get_rank_info

__all__ = ["amp", "fp16_utils", "normalization", "optimizers", "parallel", "transformer"]


class DeprecatedFeatureWarning(FutureWarning):
    """A feature will be removed."""


def deprecated_warning(msg: str) -> None:
    """Warn in the first process."""
    distributed = torch.distributed
    if not distributed.is_initialized() or distributed.get_rank() == 0:
        warnings.warn(msg, DeprecatedFeatureWarning, stacklevel=2)


def check_cudnn_version_and_warn(global_option: str, required_cudnn_version: int) -> bool:
    """Return whether torch has a sufficient version of cuDNN, and warn if not.

    Args:
        global_option: The feature that needs it.
        required_cudnn_version: The minimum version.
    """
    cudnn: Any = torch.backends.cudnn
    version = cudnn.version() if cudnn.is_available() else None
    if version is None or version < required_cudnn_version:
        found = "cuDNN is not available" if version is None else version
        message = f"`{global_option}` depends on cuDNN {required_cudnn_version} or later, but {found}"
        warnings.warn(message, stacklevel=2)
        return False
    return True


class RankInfoFormatter(logging.Formatter):
    """Adds the process's ranks in its groups to every line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        record.rank_info = get_rank_info()
        return super().format(record)


_library_root_logger = logging.getLogger(__name__)
handler = logging.StreamHandler()
handler.setFormatter(
    RankInfoFormatter(
        "%(asctime)s - PID:%(process)d - rank:%(rank_info)s - %(filename)s:%(lineno)d - %(levelname)s - "
        "%(message)s",
        "%y-%m-%d %H:%M:%S",
    )
)
_library_root_logger.addHandler(handler)
_library_root_logger.propagate = False
