# imports nothing: every interpreter of an enabled environment pays for this file when it starts
"""What starts with an interpreter: it waits for the first module that is not Python's own.

The start-up file that ``morph enable`` writes reaches this module, and so does the ``sitecustomize`` that
child processes of ``python -m morph`` run. Everything else of morph's is imported when it is needed.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType, TracebackType
    from typing import Any

    from morph.launcher.claimed import ScriptEntry

WORDS = b"cuda", b"nccl", b"NCCL"
_OF_SITE = frozenset({"sitecustomize", "usercustomize", "morph"})


def start(*, required: bool = False) -> None:
    """Have morph activated when torch is imported, packages served, and the program rewritten when read.

    Once in a process: ``site`` may read a start-up file twice. An interpreter that runs with other rights than
    the user's is left alone, since morph loads what it has built from a folder of the user's.

    Args:
        required: Whether torch is not to be imported without a backend that was asked for.
    """
    if has_other_rights():
        return
    waiting.required |= required
    if not waiting.started:
        waiting.started = True
        sys.meta_path.insert(0, waiting)
        sys.path_hooks.append(claim_script)


def has_other_rights() -> bool:
    """Tell whether the process runs with the rights of another user or group than started it (setuid)."""
    return os.geteuid() != os.getuid() or os.getegid() != os.getgid()


def withdraw() -> None:
    """Wait for torch no longer: this process is activated by other means, or not at all."""
    waiting.stop()
    sys.path_hooks[:] = [hook for hook in sys.path_hooks if hook is not claim_script]
    begun = sys.modules.get("morph.launcher.startup")
    if begun is not None:
        begun.torch_finder.stop()


def say_inactive(error: Exception) -> None:
    """Say, in one line on standard error, why morph leaves this process alone."""
    kind = type(error)
    reason = str(error) if kind.__module__ == "morph.errors" else f"{kind.__name__}: {error}"
    sys.stderr.write(f"morph: not active in this process: {reason}\n")


class Waiting:
    """Stands first on ``sys.meta_path`` until a module is looked for that is not of Python's own library.

    There is one instance, ``waiting``.

    Attributes:
        started: Whether this process was started with it.
        required: Whether torch is not to be imported without a backend that was asked for.
    """

    def __init__(self) -> None:
        self.started = False
        self.required = False

    def find_spec(
        self, fullname: str, path: "Sequence[str] | None" = None, target: "ModuleType | None" = None
    ) -> "ModuleSpec | None":
        """Return the module's spec as morph's finders and all others give it (PEP 451)."""
        if path is not None or fullname in sys.stdlib_module_names or fullname in _OF_SITE:
            return None
        self._begin()
        for finder in list(sys.meta_path):
            spec = finder.find_spec(fullname, path, target) if hasattr(finder, "find_spec") else None
            if spec is not None:
                return spec
        return None

    def find_distributions(self, context: "Any" = None) -> "Iterable[Any]":
        """Return the served packages' distributions."""
        if not self._begin():
            return ()
        from morph.finders.packages import packages

        return packages.find_distributions(context)

    def stop(self) -> None:
        """Wait no longer."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def _begin(self) -> bool:
        """Put morph's finders into this one's place, and tell whether that worked."""
        try:
            with ImportLockReleased():
                from morph.launcher import startup

                startup.begin(required=self.required)
        except Exception as error:  # whatever is wrong with us, the import goes on
            say_inactive(error)
            return False
        finally:
            self.stop()
        return True


class ImportLockReleased:
    """Lets go of the import system's one global lock, inside a ``with`` block of a finder that imports.

    The import system asks finders while it holds that lock. Who waits for another thread's import then, waits
    for a thread that waits for the lock.
    """

    def __enter__(self) -> None:
        import _imp

        self._acquire: Callable[[], None] | None = None
        try:
            _imp.release_lock()
        except RuntimeError:  # not called by the import system
            return
        self._acquire = _imp.acquire_lock

    def __exit__(
        self,
        kind: "type[BaseException] | None",
        error: "BaseException | None",
        traceback: "TracebackType | None",
    ) -> None:
        if self._acquire is not None:
            self._acquire()


def claim_script(path: str) -> "ScriptEntry":
    """Answer for the script that is the program, if it has to be rewritten (a path hook of PEP 302).

    Raises:
        ImportError: If ``path`` is anything else.
    """
    if not os.path.isfile(path) or not _read_mentions_cuda(path):
        raise ImportError(path)
    from morph.launcher import claimed

    return claimed.claim(path, of_interpreter=sys._getframe().f_back is None)


def _read_mentions_cuda(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError:
        return False  # the interpreter says what is wrong with it
    return any(word in content for word in WORDS)


waiting = Waiting()
