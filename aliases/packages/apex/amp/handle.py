"""The scaling of a loss around its backward pass, and the handle of the casts."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from ..parallel.LARC import LARC as LARC
from . import utils
from ._amp_state import _amp_state
from ._amp_state import master_params as master_params
from ._amp_state import maybe_print as maybe_print
from .scaler import LossScaler as LossScaler


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
        model: Ignored.
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
    if isinstance(optimizers, torch.optim.Optimizer | LARC):
        optimizers = [optimizers]
    scaler = _amp_state.loss_scalers[loss_id]
    with _casts_off():
        if not properties.master_weights and not scaler.dynamic and scaler.loss_scale() == 1.0:
            yield loss.float()
        else:
            yield from _scaled(loss, optimizers, loss_id, delay_unscale, delay_overflow_check)
    if properties.patch_torch_functions:
        _amp_state.handle._clear_cache()


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
    stash = optimizer._amp_stash
    if stash.already_patched:
        return
    own_step = optimizer.step

    @functools.wraps(own_step)
    def skip_step(closure: Any = None) -> None:
        if closure is not None:
            raise RuntimeError("Currently, Amp does not support closure use with optimizers.")
        maybe_print(
            f"Gradient overflow.  Skipping step, loss scaler {loss_id} reducing loss scale to "
            f"{scaler.loss_scale()}"
        )
        for param in getattr(stash, "all_fp32_from_fp16_params", ()):
            param.grad = None
        if hasattr(optimizer, "most_recent_scale"):
            optimizer.most_recent_scale = 1.0
            optimizer.scale_set_by_backward = False
        optimizer.step = own_step
        stash.already_patched = False

    optimizer.step = skip_step
    stash.already_patched = True


@contextlib.contextmanager
def disable_casts() -> Iterator[None]:
    """Disable the casts of O1 inside a block."""
    with _amp_state.handle._disable_casts():
        yield


def _casts_off() -> contextlib.AbstractContextManager[None]:
    """Return a context without casts: apex's casts are in Python, and so not active in a backward pass."""
    handle = getattr(_amp_state, "handle", None)
    return contextlib.nullcontext() if handle is None else handle._disable_casts()


class AmpHandle:
    """The handle of the casts of O1.

    Args:
        loss_scale: As for ``LossScaler``.
        enable_caching: Whether a parameter is cast once until the cache is cleared.
        verbose: Whether casts are printed.
    """

    def __init__(
        self, loss_scale: float | str = "dynamic", enable_caching: bool = True, verbose: bool = False
    ) -> None:
        self._enable_caching = enable_caching
        self._verbose = verbose
        self._cache: dict[Any, Any] = {}
        self._default_scaler: LossScaler | None = LossScaler(loss_scale)
        self._is_active = True
        self._all_wrappers: list[tuple[Any, str, Any]] = []

    def is_active(self) -> bool:
        """Return whether casts are on."""
        return self._is_active

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

    def wrap_optimizer(self, optimizer: Any, num_loss: int = 1) -> Any:
        """Raise an error: ``amp.initialize`` has replaced this.

        Raises:
            RuntimeError: Always.
        """
        raise RuntimeError(
            "The old Amp API is no longer supported.  Please move to the new API: amp.initialize and "
            "amp.scale_loss, https://nvidia.github.io/apex/amp.html#transition-guide-for-old-api-users"
        )

    def scale_loss(self, loss: Tensor, optimizer: Any) -> Any:
        """Raise an error, as ``wrap_optimizer`` does: ``amp.scale_loss`` has replaced this."""
        self.wrap_optimizer(optimizer)

    def _clear_cache(self) -> None:
        self._cache.clear()

    def _save_func(self, mod: Any, fn: str, func: Any) -> None:
        self._all_wrappers.append((mod, fn, func))

    def _deactivate(self) -> None:
        """Restore every replaced function, and disable autocast."""
        while self._all_wrappers:
            utils.set_func(*self._all_wrappers.pop())
        self._is_active = False
        torch.set_autocast_enabled("cuda", False)
        torch.set_autocast_cache_enabled(True)

    @property
    def has_cache(self) -> bool:
        """Whether parameters are cast once until the cache is cleared."""
        return self._enable_caching

    @property
    def cache(self) -> dict[Any, Any]:
        """The parameters that were cast."""
        return self._cache

    @property
    def verbose(self) -> bool:
        """Whether casts are printed."""
        return self._verbose


class NoOpHandle:
    """The handle if amp is not enabled."""

    has_cache = False
    verbose = False

    def is_active(self) -> bool:
        """Return False: there are no casts."""
        return False

    @contextlib.contextmanager
    def _disable_casts(self) -> Iterator[None]:
        yield

    def wrap_optimizer(self, optimizer: Any, num_loss: int = 1) -> Any:
        """Raise an error, as ``AmpHandle`` does."""
        AmpHandle.wrap_optimizer(self, optimizer)  # type: ignore[arg-type]

    @contextlib.contextmanager
    def scale_loss(self, loss: Tensor, optimizer: Any) -> Iterator[Tensor]:
        """Yield the loss unchanged."""
        yield loss

    def _clear_cache(self) -> None:
        """Do nothing."""

    def _deactivate(self) -> None:
        """Do nothing."""
