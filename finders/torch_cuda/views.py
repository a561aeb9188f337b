"""Views: a few names answer by who asks: the CUDA view for user code, the truth for the rest."""

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

# what is no function, and so is answered anew each time somebody looks
VALUES = frozenset({"torch.version.cuda"})

# Dynamo folds a predicate that the user's own code calls into a constant, from here
_FOLDS_USER_CODE = frozenset({"torch._dynamo.variables.torch"})


class Views:
    """Decides who gets the CUDA view and who gets the truth.

    Args:
        truthful: Top-level packages that get the truth, as torch does: the vendor's package, and the packages
            that speak this vendor natively.
        scope: Whose code is to get the CUDA view.
    """

    def __init__(self, truthful: Iterable[str], scope: Scope) -> None:
        self._truthful = frozenset(truthful)
        self._scope = scope

    @classmethod
    def of(cls, backend: Backend, scope: Scope) -> Views:
        """Return the views of ``backend``, for the code that is in ``scope``."""
        facts = backend.table.facts
        return cls(filter(None, [facts.vendor, *facts.native]), scope)

    def sees_cuda(self, module_name: str) -> bool:
        """Tell whether the code of ``module_name`` gets the CUDA view.

        >>> views = Views(["accelerate"], Scope())
        >>> views.sees_cuda("__main__"), views.sees_cuda("accelerate.state")
        (True, False)
        """
        if module_name in _FOLDS_USER_CODE:
            return True
        return module_name.partition(".")[0] not in self._truthful and self._scope.policy(module_name).cuda

    def predicate(self, truth: Callable[..., Any], cuda: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that answers with ``cuda`` to those who see CUDA, else with ``truth``.

        After the activation, for those who have kept it, it is ``truth``.
        """

        def answer(wrapped: Callable[..., Any], instance: object, args: Any, kwargs: Any) -> Any:
            sees_cuda = active() is not None and self.sees_cuda(caller(sys._getframe().f_back))
            return cuda(*args, **kwargs) if sees_cuda else wrapped(*args, **kwargs)

        return ServedFunction(truth, answer)
