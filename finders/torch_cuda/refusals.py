"""Objects for imported names that the backend lacks, which raise when they are used."""

from __future__ import annotations

import functools
from typing import Any

from morph.base.errors import MissingImportError, MissingNameError


class _Refused(type):
    """A metaclass of classes that can be used in annotations and ``isinstance`` but not instantiated."""

    _refusal: MissingNameError

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        raise _again(cls._refusal)

    def __getattr__(cls, name: str) -> Any:
        raise _again(cls._refusal)


def stand_in(name: str, own: Any, refusal: MissingNameError) -> Any:
    """Return the object that ``from torch.cuda import name`` gets instead of torch's own class or function.

    Args:
        name: The dotted CUDA name.
        own: torch's own object of that name; None if it has none.
        refusal: The error to raise, with the reason why the name is not served.

    Raises:
        MissingNameError: For a module, which the import system finds itself.
        MissingImportError: For an object that cannot raise later.
    """
    if isinstance(own, type):
        described = {"__module__": own.__module__, "__doc__": own.__doc__, "_refusal": refusal}
        return _Refused(own.__name__, (), described)
    if hasattr(own, "__path__") or hasattr(own, "__spec__"):
        raise refusal
    if not callable(own):
        raise MissingImportError(name, refusal.reason)

    @functools.wraps(own)
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise _again(refusal)

    return refuse


def _again(refusal: MissingNameError) -> MissingNameError:
    create, arguments = refusal.__reduce__()
    again: MissingNameError = create(*arguments)  # type: ignore[operator, misc]
    return again
