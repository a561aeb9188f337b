"""What stands for a name that is imported though the backend lacks it: it is refused when it is used."""

from __future__ import annotations

import functools
from typing import Any

from morph.errors import MissingImportError, MissingNameError


class _Refused(type):
    """A class that can be named, in annotations and ``isinstance``, but not made objects of."""

    _refusal: MissingNameError

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        raise _again(cls._refusal)

    def __getattr__(cls, name: str) -> Any:
        raise _again(cls._refusal)


def stand_in(name: str, own: Any, refusal: MissingNameError) -> Any:
    """Return what ``from torch.cuda import name`` gets in place of torch's own class or function.

    Args:
        name: The dotted CUDA name.
        own: torch's own object of that name; None if it has none.
        refusal: Says why it is not served.

    Raises:
        MissingNameError: For a module, which the import finds itself.
        MissingImportError: For what cannot be refused later.
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
