"""Served functions, which look like CUDA's own functions but do something else when called."""

from __future__ import annotations

from typing import Any

import wrapt


class ServedFunction(wrapt.FunctionWrapper[..., Any]):
    """A wrapt wrapper that is copied and pickled by reference, like the function it replaces."""

    def __copy__(self) -> ServedFunction:
        return self

    def __deepcopy__(self, memo: Any) -> ServedFunction:
        return self

    def __reduce_ex__(self, protocol: Any) -> str:
        return str(self.__wrapped__.__qualname__)
