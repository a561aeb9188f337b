# don't import any costly modules: every Python under morph reaches this one when it starts
"""What a child process does when it starts: it waits for torch, and for the program that it will run.

The interpreter compiles a script itself, and asks nobody. But first it asks ``sys.path_hooks`` whether the
script is something to import from, as a zip file is; ``claim_script`` says that it is, and so gets to run it.
The same question is asked, by ``runpy``, in a child that multiprocessing has spawned and that is to read its
parent's script. A script that does not mention CUDA is not claimed: it runs as if morph were not there.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import CodeType, ModuleType

    from morph.finders.literals import Literals
    from morph.finders.scope import Scope
    from morph.request import Observer

BACKEND = "MORPH_BACKEND"
REHEARSE = "MORPH_REHEARSE"
SCOPE = "MORPH_SCOPE"


def start() -> None:
    """Have morph activated when torch is imported, packages served, and the program rewritten when read."""
    from morph.finders.packages import packages
    from morph.finders.rewriting import rewriter

    packages.install()
    sys.meta_path.insert(0, TorchFinder())
    if os.environ.get(BACKEND) != "cpu":  # there the CPU branch of a program is the right one
        rewriter.install(scope(), literals_of)
        sys.path_hooks.append(claim_script)


def withdraw() -> None:
    """Take back what ``start`` did: this process runs a program under morph itself."""
    from morph.finders.rewriting import rewriter

    rewriter.uninstall()
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, TorchFinder)]
    sys.path_hooks[:] = [hook for hook in sys.path_hooks if hook is not claim_script]


def scope() -> Scope:
    """Return whose code sees CUDA, as the environment tells it to a child."""
    from morph.finders.scope import Scope

    return Scope.from_text(os.environ.get(SCOPE, ""))


def literals_of(module: str) -> Literals | None:
    """Return what the comparisons of a module are to accept as well."""
    from morph.backends import candidates

    return candidates.literals(os.environ.get(BACKEND), module)


class TorchFinder:
    """Arms morph when torch is looked for, and is gone."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return torch's spec as morph's own finder gives it, or None for any other module."""
        if fullname != "torch":
            return None
        sys.meta_path.remove(self)
        from morph import activation
        from morph.finders import finder

        rehearse = os.environ.get(REHEARSE)
        observer = _observer() if rehearse else None
        activation.arm(rehearse, simulated=rehearse is not None, observer=observer, scope=scope())
        return finder.find_spec(fullname, path, target)


def _observer() -> Observer | None:
    """Return what records the names that a rehearsed program asks for in this process."""
    from morph.launcher.rehearsing import observer

    return observer()


def claim_script(path: str) -> ScriptEntry:
    """Answer for the script that is the program, if it has to be rewritten (a path hook of PEP 302).

    Raises:
        ImportError: If ``path`` is anything else.
    """
    if not os.path.isfile(path) or not scope().policy("__main__").literals or not _mentions_cuda(path):
        raise ImportError(path)
    if literals_of("__main__") is None:
        raise ImportError(path)
    return ScriptEntry(path, of_interpreter=sys._getframe().f_back is None)


class ScriptEntry:
    """A script as an entry of ``sys.path``; the only module in it is ``__main__``."""

    def __init__(self, path: str, of_interpreter: bool) -> None:
        self._path = path
        self._of_interpreter = of_interpreter

    def find_spec(self, fullname: str, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return the spec of ``__main__``; runpy asks for its code only."""
        from importlib.machinery import ModuleSpec

        if fullname != "__main__":
            return None
        return ModuleSpec(fullname, self, origin=self._path)  # type: ignore[arg-type]

    def get_code(self, fullname: str) -> CodeType:
        """Return code that hands the namespace it is run in to :func:`morph.launcher.claimed.run`."""
        run = "__import__('morph.launcher.claimed', fromlist=['run']).run"
        call = f"{run}(globals(), {self._path!r}, of_interpreter={self._of_interpreter})"
        return compile(call, "<morph>", "exec", dont_inherit=True)


def _mentions_cuda(path: str) -> bool:
    from morph.finders.source import mentions_cuda

    try:
        with open(path, "rb") as file:
            return mentions_cuda(file.read())
    except OSError:
        return False  # the interpreter says what is wrong with it
