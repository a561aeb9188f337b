"""The state of amp in this process: its options, its loss scalers, its handle."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:
    from ..kernels.loss_scaler import LossScaler
    from .properties import Properties


class AmpState:
    """The state of amp in this process; ``initialize`` sets what has no value here.

    Attributes:
        hard_override: Whether errors are only printed.
        allow_incoming_model_not_fp32: Whether ``initialize`` accepts models that are not in float32.
    """

    opt_properties: Properties
    loss_scalers: list[LossScaler]
    handle: Any
    min_loss_scale: float | None
    max_loss_scale: float

    def __init__(self) -> None:
        self.hard_override = False
        self.allow_incoming_model_not_fp32 = False
        self.verbosity = 1


_amp_state = AmpState()


def warn_or_err(msg: str) -> None:
    """Raise ``RuntimeError(msg)``, or print a warning if ``hard_override`` is set."""
    if not _amp_state.hard_override:
        raise RuntimeError(msg)
    print(f"Warning:  {msg}")


def maybe_print(msg: str, rank0: bool = False) -> None:
    """Print ``msg`` unless the verbosity is 0; with ``rank0``, only in the first process."""
    distributed = torch.distributed
    another = distributed.is_available() and distributed.is_initialized() and distributed.get_rank() > 0
    if _amp_state.verbosity > 0 and not (rank0 and another):
        print(msg)


def master_params(optimizer: Any) -> Iterator[Tensor]:
    """Iterate over the parameters that ``optimizer`` updates; with O2, these are the float32 masters."""
    for group in optimizer.param_groups:
        yield from group["params"]
