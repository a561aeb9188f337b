"""Views: a few names depend on the caller: user code sees CUDA, other code the real device."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from morph.backends import active
from morph.finders.callers import caller
from morph.finders.scope import Scope
from morph.finders.torch_cuda.functions import ServedFunction

if TYPE_CHECKING:
    from morph.backends import Backend

PREDICATES = frozenset(
    {
        "torch.cuda.is_available",
        "torch.cuda.device_count",
        "torch.cuda.is_initialized",
        "torch.cuda._is_compiled",
        "torch.backends.cuda.is_built",
        "torch.backends.cudnn.is_available",
        "torch.backends.cudnn.version",
        "torch.distributed.is_nccl_available",
    }
)

# not functions, and therefore looked up at each use
VALUES = frozenset({"torch.version.cuda"})

# from this module Dynamo folds a predicate called by the user's code into a constant
_FOLDS_USER_CODE = frozenset({"torch._dynamo.variables.torch"})


class Views:
    """Decides which code sees CUDA and which sees the real device.

    Args:
        truthful: Top-level packages that see the real device, as torch does: the vendor's package, and
            packages that support this vendor natively.
        scope: The code that sees CUDA.
    """

    def __init__(self, truthful: Iterable[str], scope: Scope) -> None:
        self._truthful = frozenset(truthful)
        self._scope = scope

    @classmethod
    def of(cls, backend: Backend, scope: Scope) -> Views:
        """Return the views of ``backend``, for the code in ``scope``."""
        facts = backend.table.facts
        return cls(filter(None, [facts.vendor, *facts.native]), scope)

    def sees_cuda(self, module_name: str) -> bool:
        """Return whether the code of ``module_name`` sees CUDA.

        >>> views = Views(["accelerate"], Scope())
        >>> views.sees_cuda("__main__"), views.sees_cuda("accelerate.state")
        (True, False)
        """
        if module_name in _FOLDS_USER_CODE:
            return True
        return module_name.partition(".")[0] not in self._truthful and self._scope.policy(module_name).cuda

    def predicate(self, truth: Callable[..., Any], cuda: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that calls ``cuda`` for callers that see CUDA, else ``truth``.

        After the activation ends, code that still holds it calls ``truth``.
        """

        def answer(wrapped: Callable[..., Any], instance: object, args: Any, kwargs: Any) -> Any:
            sees_cuda = active() is not None and self.sees_cuda(caller(sys._getframe().f_back))
            return cuda(*args, **kwargs) if sees_cuda else wrapped(*args, **kwargs)

        return ServedFunction(truth, answer)
