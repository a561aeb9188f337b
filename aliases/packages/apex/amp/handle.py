"""The scaling of a loss around its backward pass, and the handle of the casts."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from ..kernels.loss_scaler import LossScaler as LossScaler
from ..parallel.LARC import LARC as LARC
from ._amp_state import _amp_state
from ._amp_state import master_params as master_params
from ._amp_state import maybe_print as maybe_print


@contextlib.contextmanager
def scale_loss(
    loss: Tensor,
    optimizers: Any,
    loss_id: int = 0,
    model: Any = None,
    delay_unscale: bool = False,
    delay_overflow_check: bool = False,
) -> Iterator[Tensor]:
    """Scale a loss for its backward pass, and unscale the gradients at the end of the block.

    If they are not finite then, the next ``step()`` of the optimizers does nothing.

    Args:
        loss: The loss.
        optimizers: The optimizer, or a list of them, whose gradients the backward pass computes.
        loss_id: The index of the scaler to use.
        delay_unscale: Whether gradients stay scaled, since more will be added to them.
        delay_overflow_check: Whether a later block handles gradients that are not finite.

    Yields:
        The scaled loss, in float32.

    Raises:
        RuntimeError: If ``initialize`` was not called.
    """
    if not hasattr(_amp_state, "opt_properties"):
        raise RuntimeError(
            "Invoked 'with amp.scale_loss`, but internal Amp state has not been initialized.  "
            "model, optimizer = amp.initialize(model, optimizer, opt_level=...) must be called before "
            "`with amp.scale_loss`."
        )
    properties = _amp_state.opt_properties
    if not properties.enabled:
        yield loss
        return
    chosen = [optimizers] if isinstance(optimizers, torch.optim.Optimizer | LARC) else optimizers
    scaler = _amp_state.loss_scalers[loss_id]
    # apex's casts are in Python, and so not active in a backward pass
    with disable_casts():
        if not properties.master_weights and not scaler.dynamic and scaler.loss_scale() == 1.0:
            yield loss.float()
        else:
            yield from _scaled(loss, chosen, loss_id, delay_unscale, delay_overflow_check)


def _scaled(
    loss: Tensor, optimizers: Any, loss_id: int, delay_unscale: bool, delay_overflow_check: bool
) -> Iterator[Tensor]:
    scaler = _amp_state.loss_scalers[loss_id]
    if not delay_unscale:
        for optimizer in optimizers:
            if not optimizer._amp_stash.params_have_scaled_gradients:
                optimizer._prepare_amp_backward()
    yield loss.float() * scaler.loss_scale()
    if not delay_unscale:
        scaler.clear_overflow_state()
        for optimizer in optimizers:
            optimizer._post_amp_backward(scaler)
        if not delay_overflow_check and scaler.update_scale():
            for optimizer in optimizers:
                _skip_next_step(optimizer, scaler, loss_id)
    for optimizer in optimizers:
        optimizer._amp_stash.params_have_scaled_gradients = delay_unscale


def _skip_next_step(optimizer: Any, scaler: LossScaler, loss_id: int) -> None:
    stash, own_step = optimizer._amp_stash, optimizer.step
    if stash.already_patched:
        return

    @functools.wraps(own_step)
    def skip_step(closure: Any = None) -> None:
        if closure is not None:
            raise RuntimeError("Currently, Amp does not support closure use with optimizers.")
        reduced = f"loss scaler {loss_id} reducing loss scale to {scaler.loss_scale()}"
        maybe_print(f"Gradient overflow.  Skipping step, {reduced}")
        for param in stash.all_fp32_from_fp16_params:
            param.grad = None
        optimizer.step = own_step
        stash.already_patched = False

    optimizer.step = skip_step
    stash.already_patched = True


@contextlib.contextmanager
def disable_casts() -> Iterator[None]:
    """Disable the casts of O1 inside a block."""
    handle = getattr(_amp_state, "handle", None)
    with contextlib.nullcontext() if handle is None else handle._disable_casts():
        yield


class AmpHandle:
    """The handle of the casts of O1; its arguments are accepted without effect."""

    def __init__(
        self, loss_scale: float | str = "dynamic", enable_caching: bool = True, verbose: bool = False
    ) -> None:
        self._is_active = False
        self._replaced: list[tuple[Any, str, Any]] = []

    def is_active(self) -> bool:
        """Return whether casts are on."""
        return self._is_active

    def _activate(self) -> None:
        self._is_active = True
        torch.set_autocast_enabled("cuda", True)
        torch.set_autocast_dtype("cuda", torch.float16)
        # it never ends, so a cached cast of a parameter would outlive the parameter's next update
        torch.set_autocast_cache_enabled(False)

    @contextlib.contextmanager
    def _disable_casts(self) -> Iterator[None]:
        was_active, was_on = self._is_active, torch.is_autocast_enabled("cuda")
        self._is_active = False
        torch.set_autocast_enabled("cuda", False)
        try:
            yield
        finally:
            self._is_active = was_active
            torch.set_autocast_enabled("cuda", was_on)

    def _replace(self, owner: Any, name: str, function: Any) -> None:
        self._replaced.append((owner, name, getattr(owner, name)))
        setattr(owner, name, function)

    def _deactivate(self) -> None:
        """Restore every replaced function, and disable autocast."""
        while self._replaced:
            setattr(*self._replaced.pop())
        self._is_active = False
        torch.set_autocast_enabled("cuda", False)
        torch.set_autocast_cache_enabled(True)
