"""Operators without a kernel or a gradient in torch_tpu 0.2.0 that should not be computed on the host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.nn.attention import SDPBackend

from morph.aliases.adapters.tpu import batch_norm

KEY = "PrivateUse1"
# torch composes these of others, which have gradients; torch_tpu's kernels of them have none
COMPOSED = ("avg_pool1d", "embedding_backward")
ATTENTION = "_scaled_dot_product_cudnn_attention"


def register(*, is_tpu: bool) -> torch.library.Library:
    """Give the operators below a kernel for TPUs; destroying the library takes it away.

    Args:
        is_tpu: Whether the PJRT plug-in is libtpu. Others compile no kernels of Pallas, by which torch_tpu
            computes attention; there it is computed by products and a softmax. They pin no memory either.
    """
    library = torch.library.Library("aten", "IMPL")  # type: ignore[no-untyped-call]
    for name, kernel in KERNELS.items():
        if not torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{name}", KEY):
            library.impl(name, kernel, KEY)  # type: ignore[no-untyped-call]
    batch_norm.register(library)
    for name in COMPOSED:
        composed = getattr(torch.ops.aten, name).default.decompose
        library.impl(name, composed, f"Autograd{KEY}")  # type: ignore[no-untyped-call]
    # torch_tpu answers scaled_dot_product_attention alone, not this; its fused kernel is cuDNN's operator
    choice = SDPBackend.CUDNN_ATTENTION if is_tpu else SDPBackend.MATH
    library.impl("_fused_sdp_choice", lambda *inputs, **options: choice.value, KEY)  # type: ignore[no-untyped-call]
    if not is_tpu:
        for key in (KEY, f"Autograd{KEY}"):
            library.impl(ATTENTION, _attention, key, allow_override=True)  # type: ignore[no-untyped-call]
        library.impl("_pin_memory", _copy_of, "CPU")  # type: ignore[no-untyped-call]
    return library


def _copy_of(tensor: torch.Tensor, device: torch.device | None = None) -> torch.Tensor:
    """Copy what other plug-ins cannot pin; a copy to the device then ends before it returns."""
    return tensor.clone()


def _attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_bias: torch.Tensor | None,
    compute_log_sumexp: bool,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    return_debug_mask: bool = False,
    *,
    scale: float | None = None,
) -> tuple[Any, ...]:
    """Compute attention by products and a softmax; the results for a backward are empty: it is autograd's."""
    products = torch.ops.aten._scaled_dot_product_attention_math
    grouped = query.size(-3) != key.size(-3)
    result, weights = products(
        query, key, value, attn_bias, dropout_p, is_causal, scale=scale, enable_gqa=grouped
    )
    nothing = query.new_empty(0)
    return result, nothing, nothing, nothing, query.size(-2), key.size(-2), nothing, nothing, nothing


def _record_stream(tensor: torch.Tensor, stream: torch.Stream) -> None:
    """Do nothing: a TPU runs its programs in their order, so that no stream outlives a tensor."""


def _is_compatible(tensor: torch.Tensor, other: torch.Tensor) -> bool:
    """Let a parameter stay the object that an optimizer knows when its module moves, as on CUDA.

    torch's own answer knows its own device types. torch_tpu's tensors are torch's, but for their storage.
    """
    return tensor.layout == other.layout and not (tensor.is_meta or other.is_meta)


def _unscale(grads: Sequence[torch.Tensor], found_inf: torch.Tensor, inv_scale: torch.Tensor) -> None:
    """Unscale the gradients of a GradScaler, and note in ``found_inf`` whether one is not finite."""
    for grad in grads:
        is_bad = torch.isfinite(grad).logical_not_().any()
        found_inf.copy_(torch.maximum(found_inf, is_bad.to(found_inf.dtype)))
        grad.copy_(grad * inv_scale)  # in float32, as CUDA's kernel, where the gradient has half precision


def _update_scale(
    scale: torch.Tensor,
    growth_tracker: torch.Tensor,
    found_inf: torch.Tensor,
    growth_factor: float,
    backoff_factor: float,
    growth_interval: int,
) -> torch.Tensor:
    """Update the scale of a GradScaler and its count of steps since the last change, as on CUDA."""
    is_bad, steps, grown = found_inf > 0, growth_tracker + 1, scale * growth_factor
    is_due = steps == growth_interval
    kept = torch.where(is_due & torch.isfinite(grown), grown, scale)
    scale.copy_(torch.where(is_bad, scale * backoff_factor, kept))
    growth_tracker.copy_(torch.where(is_bad | is_due, 0, steps))
    return scale


KERNELS = {
    "_has_compatible_shallow_copy_type": _is_compatible,
    "record_stream": _record_stream,
    "_amp_foreach_non_finite_check_and_unscale_": _unscale,
    "_amp_update_scale_": _update_scale,
}
