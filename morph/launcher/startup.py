# don't import any costly modules: most Pythons under morph reach this one
"""What waits in a process for torch: the finders that :mod:`morph.startup` leaves in its place."""

from __future__ import annotations

import os
import sys

from morph.finders import source  # noqa: F401  (at once, since it is needed by a finder that must not import)
from morph.finders.finder import find_elsewhere
from morph.finders.packages import packages
from morph.finders.rewriting import rewriter
from morph.finders.scope import Scope
from morph.startup import ImportLockReleased, say_inactive

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

    from morph.finders.literals import Literals
    from morph.request import Observer

BACKEND = "MORPH_BACKEND"
REHEARSE = "MORPH_REHEARSE"
SCOPE = "MORPH_SCOPE"


def begin(*, required: bool) -> None:
    """Have morph activated when torch is imported, packages served, and modules rewritten when read.

    Args:
        required: Whether torch is not to be imported without a backend that was asked for.
    """
    packages.install(scope())
    torch_finder.required = required
    if torch_finder not in sys.meta_path:
        sys.meta_path.insert(0, torch_finder)
    if os.environ.get(BACKEND) != "cpu":  # there the CPU branch of a program is the right one
        rewriter.install(scope(), literals_of)


def scope() -> Scope:
    """Return whose code sees CUDA, as the environment tells it to a child."""
    return Scope.from_text(os.environ.get(SCOPE, ""))


def literals_of(module: str) -> Literals | None:
    """Return what the comparisons of a module are to accept as well; None if they are not to be rewritten."""
    from morph.backends import candidates

    if not scope().policy(module).literals:
        return None
    return candidates.literals(os.environ.get(BACKEND), module)


class TorchFinder:
    """Arms morph when torch is looked for, and is gone.

    There is one instance, ``torch_finder``.

    Attributes:
        required: Whether torch is not to be imported without a backend that was asked for.
    """

    def __init__(self) -> None:
        self.required = False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return torch's spec as morph's own finder gives it, or None for any other module."""
        if fullname != "torch":
            return None
        spec = find_elsewhere(self, fullname, path, target)
        if spec is None or spec.submodule_search_locations is None:  # a module that happens to be called so
            return spec
        with ImportLockReleased():
            return self._armed(fullname, path, target) or spec

    def stop(self) -> None:
        """Wait no longer."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def _armed(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None
    ) -> ModuleSpec | None:
        from morph.finders.finder import finder

        self.stop()
        try:
            _arm(required=self.required)
        except Exception as error:
            if self.required:
                raise
            say_inactive(error)
        return finder.find_spec(fullname, path, target)


def _arm(*, required: bool) -> None:
    from morph import activation

    rehearse = os.environ.get(REHEARSE)
    observer = _observer() if rehearse else None
    simulated = rehearse is not None
    activation.arm(rehearse, simulated=simulated, observer=observer, scope=scope(), required=required)


def _observer() -> Observer | None:
    """Return what records the names that a rehearsed program asks for in this process."""
    from morph.launcher.rehearsing import observer

    return observer()


torch_finder = TorchFinder()
