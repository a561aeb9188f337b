"""Forward and backward passes of micro-batches."""

from .schedules import get_forward_backward_func
from .schedules.common import build_model

__all__ = ["build_model", "get_forward_backward_func"]
