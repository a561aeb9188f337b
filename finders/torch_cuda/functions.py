"""Served functions, which look like CUDA's own functions but do something else when called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import wrapt

from morph.backends import active


class ServedFunction(wrapt.BaseObjectProxy[Callable[..., Any]]):
    """A wrapt proxy that is copied and pickled by reference, like the function that it replaces.

    After the activation ends, code that still holds it calls that function. wrapt's FunctionWrapper looks for
    an instance in each call, which takes 350 ns.

    Args:
        own: The function that it looks like.
        call: What is called.
    """

    __getattribute__ = object.__getattribute__  # as in ServedModule

    _self_call: Callable[..., Any]

    def __init__(self, own: Callable[..., Any], call: Callable[..., Any]) -> None:
        super().__init__(own)
        self._self_call = call

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call what serves the function."""
        return (self.__wrapped__ if active() is None else self._self_call)(*args, **kwargs)

    def __copy__(self) -> ServedFunction:
        return self

    def __deepcopy__(self, memo: Any) -> ServedFunction:
        return self

    def __reduce_ex__(self, protocol: Any) -> str:
        return str(self.__wrapped__.__qualname__)
