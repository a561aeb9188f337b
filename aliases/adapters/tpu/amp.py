"""What autocast computes in float32: CUDA's lists. torch_tpu 0.2.0 has XLA's, without softmax and norms.

From the lists of CUDA's operators in torch.amp's documentation, and what torch 2.13 has for AutocastCUDA.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch.utils import _pytree as pytree

from morph.base.journal import Journal

KEY = "AutocastPrivateUse1"
IN_FLOAT32 = """
    acos asin cosh erfinv exp expm1 log log10 log1p log2 reciprocal rsqrt sinh tan softplus pow.Scalar
    pow.Tensor_Scalar pow.Tensor_Tensor layer_norm native_layer_norm group_norm rms_norm softmax.int
    log_softmax.int cumprod cumsum sum sum.dim_IntList linalg_vector_norm linalg_matrix_norm
    linalg_matrix_norm.str_ord norm.Scalar norm.ScalarOpt_dim frobenius_norm.dim nuclear_norm
    nuclear_norm.dim cosine_similarity dist pdist renorm logsumexp upsample_nearest1d upsample_nearest2d
    upsample_nearest3d _upsample_nearest_exact1d _upsample_nearest_exact2d _upsample_nearest_exact3d
    upsample_linear1d upsample_bilinear2d _upsample_bilinear2d_aa upsample_trilinear3d
    upsample_bicubic2d _upsample_bicubic2d_aa
""".split()
IN_THE_WIDEST = "addcdiv addcmul atan2 bilinear cross dot vdot index_put scatter_add tensordot".split()
HALVES = (torch.bfloat16, torch.float16)


def serve(journal: Journal) -> None:
    """Give autocast on TPUs the kernels of CUDA's lists that it has not.

    Args:
        journal: Records the registrations.
    """
    library: Any = torch.library.Library("aten", "IMPL")  # type: ignore[no-untyped-call]
    journal.on_undo(library._destroy)
    served = set(torch._C._dispatch_get_registrations_for_dispatch_key("AutocastCUDA"))
    served -= set(torch._C._dispatch_get_registrations_for_dispatch_key(KEY))
    for names, rule in ((IN_FLOAT32, _is_narrow), (IN_THE_WIDEST, _is_narrow_beside_float32)):
        for name in names:
            if f"aten::{name}" in served:
                library.impl(name, _widened(name, rule), KEY)


def _widened(name: str, rule: Callable[[Iterable[Any], Any], bool]) -> Callable[..., Any]:
    packet, _, overload = name.partition(".")
    operator = getattr(getattr(torch.ops.aten, packet), overload or "default")

    def kernel(*args: Any, **kwargs: Any) -> Any:
        with torch._C._DisableAutocast():
            leaves, form = pytree.tree_flatten((args, kwargs))
            if rule(leaves, kwargs.get("dtype")):
                leaves = [each.float() if _is_half(each) else each for each in leaves]
            given, named = pytree.tree_unflatten(leaves, form)
            return operator(*given, **named)

    return kernel


def _is_half(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.dtype in HALVES and not value.is_cpu


def _is_narrow(arguments: Iterable[Any], dtype: torch.dtype | None) -> bool:
    """Return whether they are computed in float32: half precision, unless a dtype is asked for."""
    return dtype is None and any(map(_is_half, arguments))


def _is_narrow_beside_float32(arguments: Iterable[Any], dtype: torch.dtype | None) -> bool:
    tensors = [each.dtype for each in arguments if isinstance(each, torch.Tensor)]
    return torch.float32 in tensors and any(each in HALVES for each in tensors)
