"""Uncaught exceptions, shown as Python shows them when it runs the program itself."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from types import TracebackType
from typing import Any


def call_as_outermost(function: Callable[..., object], *arguments: object) -> None:
    """Call ``function``; an exception that leaves it is shown as if nothing had called it."""
    try:
        function(*arguments)
    except Exception as error:
        _explain(error)
        _show_without_caller(error)
        raise
    except KeyboardInterrupt as interrupt:
        _show_without_caller(interrupt)
        raise


def show_from(error: BaseException, traceback: TracebackType | None) -> None:
    """Make the interpreter show ``error``, which ends the program, from ``traceback`` on.

    The interpreter still does everything else for an uncaught exception: it sets the exit status, raises the
    signal of a KeyboardInterrupt, and calls ``sys.excepthook``.

    Args:
        error: What the program raised.
        traceback: Its traceback from the program's own first frame on; None if no code of it had run.
    """
    hook = getattr(sys, "excepthook", _missing_hook)

    def show(kind: type[BaseException], value: BaseException, trace: TracebackType | None) -> None:
        sys.excepthook = hook
        if value is error:
            trace = value.__traceback__ = sys.last_traceback = traceback
        _call_hook(kind, value, trace)

    sys.excepthook = show


def _missing_hook(kind: type[BaseException], value: BaseException, trace: TracebackType | None) -> None:
    sys.stderr.write("sys.excepthook is missing\n")
    sys.__excepthook__(kind, value, trace)


def _explain(error: BaseException) -> None:
    with contextlib.suppress(Exception):  # the program's own error is shown, whatever is left of Python
        from morph.kernels import refusals

        refusals.explain(error)


def _show_without_caller(error: BaseException) -> None:
    called = error.__traceback__
    show_from(error, called and called.tb_next)


def _call_hook(kind: type[BaseException], value: BaseException, trace: TracebackType | None) -> None:
    """Call ``sys.excepthook``; report its failure as the interpreter does, without morph's frames."""
    try:
        sys.excepthook(kind, value, trace)
    except Exception as failure:
        broken: Any = failure.with_traceback(failure.__traceback__ and failure.__traceback__.tb_next)
    else:
        return
    sys.stderr.write("Error in sys.excepthook:\n")
    sys.__excepthook__(type(broken), broken, broken.__traceback__)
    sys.stderr.write("\nOriginal exception was:\n")
    sys.__excepthook__(kind, value, trace)
