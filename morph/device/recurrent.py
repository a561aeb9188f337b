"""Recurrent networks under float16's autocast, on a CPU whose kernels lack float16 for them."""

from __future__ import annotations

import warnings
from typing import Any

import torch

from morph.device.words import Words
from morph.journal import Journal

LAYER = "mkldnn_rnn_layer"
_OUTPUTS = 3  # the layer's output, and the two parts of its state; what follows is for its backward


def install(words: Words, journal: Journal) -> None:
    """Have autocast compute recurrent layers in single precision where oneDNN refuses float16.

    torch asks oneDNN about a layer's own dtype, before autocast changes it.

    Args:
        words: What CUDA's words become.
        journal: Records every rebinding.
    """
    if not words.on_cpu or _takes_half():
        return
    library = torch.library.Library("aten", "IMPL")  # type: ignore[no-untyped-call]
    journal.on_undo(library._destroy)
    with warnings.catch_warnings():  # torch says that its own kernel is overridden, which is the purpose
        warnings.simplefilter("ignore", UserWarning)
        library.impl(LAYER, _layer, "AutocastCPU")  # type: ignore[no-untyped-call]


def _takes_half() -> bool:
    with_layers: bool = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    return not with_layers or bool(torch.ops.mkldnn._is_mkldnn_fp16_supported())


def _layer(*args: Any) -> tuple[torch.Tensor, ...]:
    low = torch.get_autocast_dtype("cpu")
    computed = torch.float32 if low is torch.float16 else low
    with torch.autocast("cpu", enabled=False):
        results = getattr(torch.ops.aten, LAYER)(*(_cast(value, computed) for value in args))
        return tuple(_cast(value, low) for value in results[:_OUTPUTS]) + tuple(results[_OUTPUTS:])


def _cast(value: Any, dtype: torch.dtype) -> Any:
    return value.to(dtype) if isinstance(value, torch.Tensor) and value.is_floating_point() else value
