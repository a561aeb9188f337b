"""The state of amp in this process: its options, its loss scalers, its handle."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:
    from .properties import Properties
    from .scaler import LossScaler

TORCH_MAJOR, TORCH_MINOR = (int(part) for part in torch.__version__.split(".")[:2])


class AmpState:
    """The state of amp in this process.

    Attributes:
        hard_override: Whether errors are only printed.
        allow_incoming_model_not_fp32: Whether ``initialize`` accepts models that are not in float32.
        verbosity: How much is printed: 0 nothing, 1 the options, 2 every cast.
        opt_properties: The options; set by ``initialize``.
        loss_scalers: One for each loss; set by ``initialize``.
        handle: The casts of O1; set when they are enabled.
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
    """Raise ``RuntimeError(msg)``, or print a warning if ``hard_override`` is set.

    Raises:
        RuntimeError: If it is not set.
    """
    if not _amp_state.hard_override:
        raise RuntimeError(msg)
    print(f"Warning:  {msg}")


def maybe_print(msg: str, rank0: bool = False) -> None:
    """Print ``msg`` unless the verbosity is 0; with ``rank0``, only in the first process."""
    if _amp_state.verbosity > 0 and not (rank0 and _is_another_rank()):
        print(msg)


def _is_another_rank() -> bool:
    distributed = torch.distributed
    return distributed.is_available() and distributed.is_initialized() and distributed.get_rank() > 0


def master_params(optimizer: Any) -> Iterator[Tensor]:
    """Iterate over the parameters that ``optimizer`` updates; with O2, these are the float32 masters."""
    for group in optimizer.param_groups:
        yield from group["params"]
