"""The scaling of losses and unscaling of gradients."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ..kernels.scaling import all_finite, raise_flag, scale_into
from ..kernels.tensor_lists import each_at_full_precision
from ..multi_tensor_apply import multi_tensor_applier as multi_tensor_applier
from ._amp_state import master_params as master_params
from ._amp_state import maybe_print as maybe_print

Scales = tuple[float, float, float]


class LossScaler:
    """The factor of one loss, so that its gradients do not vanish in float16.

    Args:
        loss_scale: A constant factor, or ``"dynamic"``: halved after gradients that are not finite,
            multiplied by ``scale_factor`` after ``scale_window`` steps without any.
        init_scale: The initial dynamic factor, at most ``max_loss_scale``.
        scale_factor: See ``loss_scale``; apex always uses 2.
        scale_window: See ``loss_scale``.
        min_loss_scale: The minimum of a dynamic factor.
        max_loss_scale: The maximum of a dynamic factor.
    """

    warned_no_fused_kernel = False
    warned_unscaling_non_fp32_grad = False
    has_fused_kernel = True

    def __init__(
        self,
        loss_scale: float | str,
        init_scale: float = 2.0**16,
        scale_factor: float = 2.0,
        scale_window: int = 2000,
        min_loss_scale: float | None = None,
        max_loss_scale: float = 2.0**24,
    ) -> None:
        self.dynamic = loss_scale == "dynamic"
        self._loss_scale = min(max_loss_scale, init_scale) if self.dynamic else float(loss_scale)
        self._max_loss_scale = max_loss_scale
        self._min_loss_scale = min_loss_scale
        self._scale_seq_len = scale_window
        self._unskipped = 0
        self._has_overflow = False
        self._overflow_buf = torch.zeros(1, dtype=torch.int, device="cuda")

    def loss_scale(self) -> float:
        """Return the factor."""
        return self._loss_scale

    def unscale(
        self,
        model_grads: Sequence[Tensor],
        master_grads: Sequence[Tensor],
        unused_scale: float | None,
        models_are_masters: bool = False,
        scale_override: float | None = None,
    ) -> None:
        """Write the gradients of the model, divided by the factor, to those of the masters.

        Args:
            model_grads: The gradients of the scaled loss.
            master_grads: The destinations, which may be the same tensors.
            unused_scale: Ignored.
            models_are_masters: Whether the model's parameters are the masters.
            scale_override: The divisor, if it is not the scaler's.
        """
        scale = self._loss_scale if scale_override is None else scale_override
        needless = scale == 1.0 and models_are_masters and not self.dynamic
        if model_grads and not self._has_overflow and not needless:
            scale_into(model_grads, master_grads, 1.0 / scale, self._overflow_buf)

    def unscale_with_stashed(
        self,
        model_grads: Sequence[Tensor],
        stashed_master_grads: Sequence[Tensor],
        master_grads: Sequence[Tensor],
        scale_override: Scales | None = None,
    ) -> None:
        """Write the sum of the model's gradients, divided by the factor, and earlier ones to the masters'.

        Args:
            model_grads: The gradients of the scaled loss; only they are checked.
            stashed_master_grads: The gradients of earlier backward passes.
            master_grads: The destinations.
            scale_override: The factors of the gradients, of the earlier ones and of the sum; by default the
                scaler's, 1 and 1.
        """
        if self._has_overflow or not model_grads:
            return
        given, stashed, wanted = scale_override or (self._loss_scale, 1.0, 1.0)
        raise_flag(self._overflow_buf, ~all_finite(model_grads))
        sums = torch._foreach_mul(each_at_full_precision(model_grads), wanted / given)
        torch._foreach_add_(sums, each_at_full_precision(stashed_master_grads), alpha=wanted / stashed)
        torch._foreach_copy_(list(master_grads), sums)

    def clear_overflow_state(self) -> None:
        """Reset the overflow flag."""
        self._has_overflow = False
        self._overflow_buf.zero_()

    def update_scale(self) -> bool:
        """Adapt a dynamic factor to overflows since ``clear_overflow_state``; waits for the device.

        Returns:
            Whether the step should be skipped because of infinities or NaNs.
        """
        if not self.dynamic:
            self._unskipped += 1
            return False
        self._has_overflow = self._has_overflow or bool(self._overflow_buf.item())
        if self._has_overflow:
            self._loss_scale = max(self._min_loss_scale or 0.0, self._loss_scale / 2.0)
            self._unskipped = 0
            return True
        self._unskipped += 1
        if self._unskipped == self._scale_seq_len:
            self._loss_scale = min(self._max_loss_scale, self._loss_scale * 2.0)
            self._unskipped = 0
        return False
