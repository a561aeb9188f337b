"""``torch.compile`` with the words that CUDA programs give it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from morph.base.journal import Journal


def serve(journal: Journal) -> None:
    """Let ``torch.compile`` take inductor's name and its modes, which torch_tpu's compiler has not (0.2.0).

    Args:
        journal: Records the rebinding.
    """
    journal.set_attribute(torch, "compile", _by_xla(torch.compile))


def _by_xla(torchs: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``torch.compile`` that leaves the backend to torch_tpu: XLA, or inductor for the host's tensors.

    A mode says how inductor launches and chooses its kernels, and changes no result.
    """

    @functools.wraps(torchs)
    def call(model: Any = None, *, backend: Any = None, mode: str | None = None, **options: Any) -> Any:
        if backend in (None, "inductor"):
            return torchs(model, **options)
        return torchs(model, backend=backend, mode=mode, **options)

    return call
