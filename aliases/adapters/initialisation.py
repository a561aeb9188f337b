"""Calls that are deferred until the device is initialised."""

from __future__ import annotations

from collections.abc import Callable

Work = Callable[[], object]


def lazy_call(target: Callable[[Work], None], callable: Work, **kwargs: bool) -> None:
    """Implement ``torch.cuda._lazy_call(callable, seed=..., seed_all=...)``.

    Args:
        target: The vendor's function, which calls in order of registration and needs no hint about seeds.
        callable: The function to call.
        **kwargs: CUDA's hints that it sets a seed.
    """
    target(callable)
