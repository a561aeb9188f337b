"""Operators that torch_tpu 0.2.0 computes otherwise than CUDA, or XLA's compiler for the CPU not at all."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.nn.attention import SDPBackend
from torch.utils import _pytree as pytree

from morph.aliases.adapters.tpu import batch_norm
from morph.base.announcement import report
from morph.base.journal import Journal

KEY = "PrivateUse1"
# torch composes these of others, which have gradients; torch_tpu's kernels of them have none
COMPOSED = ["avg_pool1d", "embedding_backward"]
# torch_tpu's kernels of these are XLA's scan, which XLA does not compile for the CPU
SCANS = """
    cumsum.out cumprod.out cummax cummin _logcumsumexp repeat_interleave.Tensor _embedding_bag
    _embedding_bag_forward_only _embedding_bag_backward _embedding_bag_per_sample_weights_backward
""".split()
COMPOSED_OF_SCANS = ["repeat_interleave.self_Tensor"]
ATTENTION = "_scaled_dot_product_cudnn_attention"


def register(*, is_tpu: bool) -> torch.library.Library:
    """Give the operators below a kernel for TPUs; destroying the library takes it away.

    Args:
        is_tpu: Whether the PJRT plug-in is libtpu. Others compile no kernels of Pallas, by which torch_tpu
            computes attention; there it is computed by products and a softmax. They pin no memory either, and
            have no scan.
    """
    library = torch.library.Library("aten", "IMPL")  # type: ignore[no-untyped-call]
    for name, kernel in KERNELS.items():
        if not torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{name}", KEY):
            library.impl(name, kernel, KEY)  # type: ignore[no-untyped-call]
    batch_norm.register(library)
    for name, mend in MENDED.items():
        mended = functools.partial(mend, torch.library.get_kernel(f"aten::{name}", KEY))
        library.impl(name, mended, KEY, with_keyset=True, allow_override=True)  # type: ignore[no-untyped-call]
    for name in COMPOSED if is_tpu else COMPOSED + COMPOSED_OF_SCANS:
        library.impl(name, _operator(name).decompose, f"Autograd{KEY}")  # type: ignore[no-untyped-call]
    # torch_tpu answers scaled_dot_product_attention alone, not this; its fused kernel is cuDNN's operator
    choice = SDPBackend.CUDNN_ATTENTION if is_tpu else SDPBackend.MATH
    library.impl("_fused_sdp_choice", lambda *inputs, **options: choice.value, KEY)  # type: ignore[no-untyped-call]
    if not is_tpu:
        for key in (KEY, f"Autograd{KEY}"):
            library.impl(ATTENTION, _attention, key, allow_override=True)  # type: ignore[no-untyped-call]
        pin = functools.partial(_pin_or_copy, torch.library.get_kernel("aten::_pin_memory", "CPU"))
        library.impl("_pin_memory", pin, "CPU", with_keyset=True)  # type: ignore[no-untyped-call]
        for name in SCANS:
            library.impl(name, _on_host(name), KEY, allow_override=True)  # type: ignore[no-untyped-call]
    return library


def serve_attention(journal: Journal) -> None:
    """Let attention be computed where a program leaves it cuDNN's or the memory-efficient kernel alone.

    torch_tpu asks whether flash attention, the overrideable one or products are allowed (0.2.0).

    Args:
        journal: Records the rebinding.
    """
    allow = torch._C._set_sdp_use_overrideable

    def allow_fused(is_allowed: bool) -> None:  # sdpa_kernel() sets this one after the others
        allow(is_allowed or torch._C._get_mem_efficient_sdp_enabled() or torch._C._get_cudnn_sdp_enabled())

    journal.set_attribute(torch._C, "_set_sdp_use_overrideable", allow_fused)


def _operator(name: str) -> Any:
    packet, _, overload = name.partition(".")
    return getattr(getattr(torch.ops.aten, packet), overload or "default")


def _on_host(name: str) -> Callable[..., Any]:
    compute = _operator(name.removesuffix(".out"))
    say = functools.cache(report)

    def kernel(*args: Any, out: torch.Tensor | None = None, **kwargs: Any) -> Any:
        say(f"aten::{name} is computed on the host: XLA's compiler for the CPU has no scan")
        given, named = pytree.tree_map_only(torch.Tensor, torch.Tensor.cpu, (args, kwargs))
        result = compute(*given, **named)
        if out is not None:
            return out.resize_(result.shape).copy_(result)
        return pytree.tree_map_only(torch.Tensor, torch.Tensor.cuda, result)

    return kernel


def _pin_or_copy(kernel: Any, keys: Any, tensor: torch.Tensor, device: torch.device | None = None) -> Any:
    """Copy where the plug-in pins no memory, which its first use tells; copies to the device then wait."""
    try:
        return kernel.call_boxed(keys, tensor, device)
    except RuntimeError as error:
        if "host memory allocator is not implemented" not in str(error):
            raise
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


def _unique(vendors: Any, keys: Any, tensor: torch.Tensor, is_sorted: bool = True, *wanted: bool) -> Any:
    """Sort where any order is asked for, which torch_tpu has not (0.2.0)."""
    return vendors.call_boxed(keys, tensor, True, *wanted, *[False] * (2 - len(wanted)))


def _pdist_backward(vendors: Any, keys: Any, grad: torch.Tensor, tensor: torch.Tensor, *rest: Any) -> Any:
    """Return zeros for a single row, which has no distances, where torch_tpu's are NaN (0.2.0)."""
    return vendors.call_boxed(keys, grad, tensor, *rest) if grad.numel() else torch.zeros_like(tensor)


def _set(vendors: Any, keys: Any, tensor: torch.Tensor, source: Any, *rest: Any) -> Any:
    """Refuse memory of another device, which torch_tpu takes, and do without strides (0.2.0).

    Raises:
        RuntimeError: If ``source``, a tensor or a storage, is on another device than the tensor.
    """
    if tensor.device != source.device:
        raise RuntimeError("set_() cannot give a tensor the memory of another device: the devices must match")
    if rest:
        offset, size, *strides = rest
        rest = offset, size, *(strides or [torch.empty(size, device="meta").stride()])
    return vendors.call_boxed(keys, tensor, source, *rest)


def _resize(
    vendors: Any,
    keys: Any,
    tensor: torch.Tensor,
    size: Sequence[int],
    *,
    memory_format: torch.memory_format | None = None,
) -> Any:
    """Leave a view where it begins in its storage; torch_tpu moves it to the storage's beginning (0.2.0)."""
    offset = tensor.storage_offset()
    if tensor.shape == torch.Size(size) and memory_format is None:
        return tensor
    if not offset:
        return vendors.call_boxed(keys, tensor, size, memory_format=memory_format)
    form = torch.empty(size, device="meta", memory_format=memory_format or torch.contiguous_format)
    vendors.call_boxed(keys, tensor, [offset + form.numel()], memory_format=None)
    return tensor.as_strided_(form.shape, form.stride(), offset)


def _with_number(vendors: Any, keys: Any, tensor: torch.Tensor, *rest: Any) -> Any:
    """Take a number that is a tensor of the host, as CUDA does; torch_tpu refuses it (0.2.0)."""
    return vendors.call_boxed(keys, tensor, *map(_there, rest))


def _there(value: Any) -> Any:
    is_number = isinstance(value, torch.Tensor) and value.is_cpu and value.dim() == 0
    return value.cuda() if is_number else value


MENDED: dict[str, Callable[..., Any]] = {
    "_unique2": _unique,
    "_pdist_backward": _pdist_backward,
    "resize_": _resize,
    "set_.source_Tensor": _set,
    "set_.source_Storage": _set,
    "set_.source_Storage_storage_offset": _set,
    "_index_put_impl_": _with_number,
    "index_fill_.int_Tensor": _with_number,
    "fill_.Tensor": _with_number,
    "where.self": _with_number,
}
KERNELS = {
    "_has_compatible_shallow_copy_type": _is_compatible,
    "record_stream": _record_stream,
    "_amp_foreach_non_finite_check_and_unscale_": _unscale,
    "_amp_update_scale_": _update_scale,
}
