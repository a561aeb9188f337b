"""Names of served packages, which only the processes under morph can import."""

import importlib
from typing import Any


class Later:
    """A module, or a function or class in it, that is imported when it is used.

    Args:
        module: The module's dotted name.
        name: The function's or class's name.
    """

    def __init__(self, module: str, name: str = "") -> None:
        self._place = module, name

    def __getattr__(self, name: str) -> Any:
        return getattr(self._found(), name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._found()(*args, **kwargs)

    def _found(self) -> Any:
        module, name = self._place
        found = importlib.import_module(module)
        return getattr(found, name) if name else found


def later(module: str, *names: str) -> list[Later]:
    """Return names of a module."""
    return [Later(module, name) for name in names]
