"""Operators that are defined by a function."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from torch.library import custom_op


def triton_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    schema: str | None = None,
    allow_decomposition: bool = True,
) -> Any:
    """Define an operator by a function that computes it, also for fake tensors.

    Args:
        name: ``"namespace::name"``.
        fn: What computes it; None to decorate it.
        mutates_args: The arguments that it writes to.
        schema: Its signature; None to read it from the annotations.
        allow_decomposition: Without effect: compilers see the operator as a whole.

    Returns:
        The operator, or a decorator that makes one.
    """

    def define(function: Callable[..., Any]) -> Any:
        operator = custom_op(name, function, mutates_args=mutates_args, schema=schema)
        operator.register_fake(function)
        return operator

    return define if fn is None else define(fn)
