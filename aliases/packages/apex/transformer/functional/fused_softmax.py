"""The softmax of Megatron's attention, with the functions for low precision where apex has a kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from ..._autocast_utils import cast_by_autocast
from ...kernels import scaled_softmax
from ...kernels.original import initializer
from ..enums import AttnMaskType as AttnMaskType

LONGEST = 16384


@cast_by_autocast
def scaled_masked_softmax(inputs: Tensor, mask: Tensor | None, scale: float) -> Tensor:
    """Return the softmax of scaled scores, without those where the mask is 1; a fully masked row is zero."""
    if mask is None:
        return scaled_softmax.forward(inputs, scale)
    return scaled_softmax.masked_forward(inputs, mask, scale)


@cast_by_autocast
def generic_scaled_masked_softmax(inputs: Tensor, mask: Tensor, scale: float) -> Tensor:
    """Do what ``scaled_masked_softmax`` does, for any number of keys."""
    return scaled_softmax.masked_forward(inputs, mask, scale)


@cast_by_autocast
def scaled_upper_triang_masked_softmax(inputs: Tensor, _: Any, scale: float) -> Tensor:
    """Compute the softmax of scaled scores, without the keys after each query; ``_`` is ignored."""
    assert inputs.size(-2) == inputs.size(-1), "causal mask is only for self attention"
    return scaled_softmax.causal_forward(inputs.flatten(0, 1), scale).view(inputs.shape)


FUNCTIONS: dict[AttnMaskType, Callable[..., Tensor]] = {
    AttnMaskType.causal: scaled_upper_triang_masked_softmax,
    AttnMaskType.padding: scaled_masked_softmax,
}


class FusedScaleMaskSoftmax(nn.Module):
    """The softmax of scaled and masked scores.

    Args:
        input_in_fp16: Whether scores are in float16, like ``input_in_bf16`` in bfloat16.
        attn_mask_type: What the mask hides.
        scaled_masked_softmax_fusion: Whether the functions for low precision may be used.
        mask_func: Otherwise masks scores: called with the scores and the mask.
        softmax_in_fp32: Whether the softmax is otherwise computed in float32.
        scale: The factor of the scores, or None.

    Raises:
        RuntimeError: If both dtypes are named, or scores should be scaled in low precision.
        ValueError: If the type of the mask is unknown.
    """

    input_in_fp16: bool
    input_in_bf16: bool
    attn_mask_type: AttnMaskType
    scaled_masked_softmax_fusion: bool
    mask_func: Callable[[Tensor, Tensor], Tensor]
    softmax_in_fp32: bool
    scale: float | None

    @initializer(__name__)
    def __init__(self, **options: Any) -> None:
        super().__init__()
        for name, value in options.items():
            setattr(self, name, value)
        if self.input_in_fp16 and self.input_in_bf16:
            raise RuntimeError("both fp16 and bf16 flags cannot be active at the same time.")
        if not (self.scale is None or self.softmax_in_fp32):
            raise RuntimeError("softmax should be in fp32 when scaled")
        self.input_in_float16 = self.input_in_fp16 or self.input_in_bf16
        if self.scaled_masked_softmax_fusion:
            if self.attn_mask_type not in FUNCTIONS:
                raise ValueError("Invalid attn_mask_type.")
            self.fused_softmax_func = FUNCTIONS[self.attn_mask_type]

    def forward(self, input: Tensor, mask: Tensor | None) -> Tensor:
        """Return the probabilities of scores of shape (batch, heads, queries, keys)."""
        assert input.dim() == 4
        if self.is_kernel_available(mask, *input.size()):
            return self.forward_fused_softmax(input, mask)
        return self.forward_torch_softmax(input, mask)

    def is_kernel_available(self, mask: Any, b: int, np: int, sq: int, sk: int) -> bool:
        """Return whether apex has a kernel for scores of this shape."""
        attentions = b * np
        divisible = sq % 4 == sk % 4 == attentions % 4 == 0
        known = self.attn_mask_type in FUNCTIONS
        allowed = self.scaled_masked_softmax_fusion and self.input_in_float16
        if not (allowed and known and divisible and 16 < sk <= LONGEST):
            return False
        rows = attentions if self.attn_mask_type == AttnMaskType.causal else sq
        return rows % self.get_batch_per_block(sq, sk, b, np) == 0

    def forward_fused_softmax(self, input: Tensor, mask: Tensor | None) -> Tensor:
        """Return the probabilities from the function for low precision."""
        return self.fused_softmax_func(input, mask, 1.0 if self.scale is None else self.scale)

    def forward_torch_softmax(self, input: Tensor, mask: Tensor | None) -> Tensor:
        """Return the probabilities from torch's softmax."""
        dtype = torch.float16 if self.input_in_fp16 else torch.bfloat16
        widened = self.input_in_float16 and self.softmax_in_fp32
        scores = input.float() if widened else input
        scores = scores if self.scale is None else scores * self.scale
        probabilities = (scores if mask is None else self.mask_func(scores, mask)).softmax(-1)
        return probabilities.to(dtype) if widened else probabilities

    @staticmethod
    def get_batch_per_block(sq: int, sk: int, b: int, np: int) -> int:
        """Return the number of rows in a block of apex's kernel."""
        return scaled_softmax.get_batch_per_block(sq, sk, b, np)
