"""Views: devices and a few names depend on the caller: user code sees CUDA, other code the real device."""

from __future__ import annotations

import enum
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

import torch

from morph.finders.callers import OWN_FOLDERS, PROGRAM, acts_for_caller, caller, module_of
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

# torch's functions that write text for their caller, by module; None stands for all of one
_WRITE_FOR_CALLERS: dict[str, frozenset[str] | None] = {
    "torch": frozenset({"typename"}),
    "torch._tensor": frozenset({"__repr__", "__format__"}),
    "torch._tensor_str": None,
    "torch.distributed.device_mesh": frozenset({"__repr__"}),
    "torch.nn.modules.container": frozenset({"extra_repr"}),
    "torch.nn.parameter": frozenset({"__repr__"}),
    "torch.storage": frozenset({"__repr__", "__str__"}),
}
# Dynamo evaluates devices in these on behalf of the code that it traces
_TRACE: dict[str, frozenset[str] | None] = {
    "torch._dynamo.variables.builtin": None,
    "torch._dynamo.variables.constant": None,
    "torch._dynamo.variables.distributed": None,
    "torch._dynamo.variables.misc": None,
    "torch._dynamo.variables.tensor": frozenset({"method_type"}),
    "torch._dynamo.variables.torch": frozenset({"call_function"}),
}
_POLYFILLS = "torch._dynamo.polyfills"  # it traces these in place of Python's own functions


class View(enum.IntFlag):
    """What a device is called in a frame; the seam's ``views.cpp`` has the same numbers."""

    VENDOR = 0
    CUDA = 1
    CALLER = 2  # as in the frame that called this one
    ONCE = 4  # other code may be meant at the next question
    THROUGH = 8  # as in the frame that called this one, if what this one calls acts for its caller


class Views:
    """Decides which code sees CUDA and which sees the real device.

    Args:
        truthful: Top-level packages that see the real device, as torch does: the vendor's package, and
            packages that support this vendor natively.
        scope: The code that sees CUDA.
        words: The vendor's names of its device and its collectives; code with these sees the real device.
    """

    def __init__(self, truthful: Iterable[str], scope: Scope, words: Iterable[str] = ()) -> None:
        self._truthful = frozenset(truthful)
        self._scope = scope
        spellings = [rf"{word}(:\d*)?|torch\.{word}(\..*)?" for word in words]
        self._spelled = re.compile("|".join(spellings) or r"(?!)")

    @classmethod
    def of(cls, backend: Backend, scope: Scope) -> Views:
        """Return the views of ``backend``, for the code in ``scope``."""
        facts = backend.table.facts
        return cls(filter(None, [facts.vendor, *facts.native]), scope, [facts.device_type, facts.collective])

    def sees_cuda(self, module_name: str) -> bool:
        """Return whether the code of ``module_name`` sees CUDA.

        >>> views = Views(["accelerate"], Scope())
        >>> views.sees_cuda("__main__"), views.sees_cuda("accelerate.state")
        (True, False)
        """
        if module_name in _FOLDS_USER_CODE:
            return True
        return module_name.partition(".")[0] not in self._truthful and self._scope.policy(module_name).cuda

    def shows_cuda(self, frame: FrameType | None) -> bool:
        """Return whether a device is "cuda" to the code that runs in ``frame``."""
        acting = View.CALLER
        while frame is not None:
            view = self.view(frame)
            if not view & acting:
                return bool(view & View.CUDA)
            acting, frame = View.CALLER | View.THROUGH, frame.f_back
        return self.sees_cuda(PROGRAM)

    def view(self, frame: FrameType | None) -> View:
        """Return what a device is called in ``frame``; None stands for a thread without frames."""
        if frame is None:
            return View(self.sees_cuda(PROGRAM))
        name = module_of(frame)
        if _lists(_TRACE, name, frame.f_code):
            return View.ONCE | self._traced(frame)
        return self._of_code(name, frame.f_code)

    def _of_code(self, name: str, code: CodeType) -> View:
        if acts_for_caller(name) or name.startswith(_POLYFILLS) or _lists(_WRITE_FOR_CALLERS, name, code):
            return View.CALLER
        is_truthful = name in _FOLDS_USER_CODE or not self.sees_cuda(name)
        if is_truthful or code.co_filename.startswith(OWN_FOLDERS):
            # a vendor may have put its own function in place of torch's, which it calls
            is_repr = code is getattr(torch.Tensor.__repr__, "__code__", None)
            return View.THROUGH if is_repr else View.VENDOR
        return View(not _names(code, self._spelled))

    def _traced(self, frame: FrameType | None) -> View:
        """Return the view of the code that Dynamo traces: its translator is a local variable nearby."""
        translator = None
        while frame is not None and not hasattr(translator, "f_code"):
            translator = frame.f_locals.get("tx", frame.f_locals.get("self"))
            frame = frame.f_back
        while translator is not None:
            view = self._of_code(module_of(translator), translator.f_code)
            if view is not View.CALLER:
                return view
            translator = translator.parent
        return View(self.sees_cuda(PROGRAM))

    def predicate(self, truth: Callable[..., Any], cuda: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that calls ``cuda`` for callers that see CUDA, else ``truth``."""

        def answer(*args: Any, **kwargs: Any) -> Any:
            sees_cuda = self.sees_cuda(caller(sys._getframe(1).f_back))
            return (cuda if sees_cuda else truth)(*args, **kwargs)

        return ServedFunction(truth, answer)


def _lists(functions: Mapping[str, frozenset[str] | None], module: str, code: CodeType) -> bool:
    """Return whether a table of functions by module has this one."""
    listed = functions.get(module, frozenset())
    return listed is None or code.co_name in listed


def _names(code: CodeType, spelled: re.Pattern[str]) -> bool:
    """Return whether a code object names the vendor's device, in its comprehensions and lambdas too."""
    return any(_holds(constant, spelled) for constant in code.co_consts)


def _holds(constant: object, spelled: re.Pattern[str]) -> bool:
    match constant:
        case str():
            return spelled.fullmatch(constant) is not None
        case CodeType(co_name=name):
            return name.startswith("<") and _names(constant, spelled)
        case tuple() | frozenset() if not {"cuda", "nccl"} & set(constant):  # else it distinguishes nothing
            return any(_holds(each, spelled) for each in constant)
    return False
