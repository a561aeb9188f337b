"""Inductor's own way for GPUs: kernels in Triton, which the software device compiles and launches."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch

from morph.base.journal import Journal
from morph.finders.finder import on_import

TUNING = ("max_autotune", "max_autotune_pointwise")


def place(journal: Journal) -> None:
    """Let inductor generate kernels in Triton, as soon as it is imported.

    Args:
        journal: Records every rebinding.
    """
    # in a build for the CPU torch._C._dynamo.guards._empty_strided_cuda raises (as of torch 2.13)
    journal.set_attribute(torch._C._dynamo.guards, "_empty_strided_cuda", _empty_strided)
    on_import(
        "torch._inductor.runtime.triton_heuristics", lambda module: _without_tuning(module, journal), journal
    )


def _empty_strided(size: Sequence[int], stride: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    return torch.empty_strided(size, stride, dtype=dtype, device="cuda")


def _without_tuning(heuristics: Any, journal: Journal) -> None:
    """Take the first of the configurations that ``cached_autotune`` would compile and time (torch 2.13)."""
    original: Callable[..., Any] = heuristics.cached_autotune

    @functools.wraps(original)
    def cached_autotune(
        size_hints: Any, configs: Sequence[Any], triton_meta: Any, heuristic_type: Any, **options: Any
    ) -> Any:
        is_users = heuristic_type == heuristics.HeuristicType.USER_AUTOTUNE
        asked = options.get("inductor_meta") or {}
        chosen = configs if is_users or any(map(asked.get, TUNING)) else configs[:1]
        return original(size_hints, chosen, triton_meta, heuristic_type, **options)

    journal.set_attribute(heuristics, "cached_autotune", cached_autotune)
