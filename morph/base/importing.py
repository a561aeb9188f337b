# imports only modules that are imported already: this file is imported under the import system's lock
"""The import system: its list of finders, its global lock, and the source of morph's own imports."""

import _imp
import _thread
import os
import sys
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import PathFinder

import morph

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType, TracebackType
    from typing import Any

# morph's dependencies and their dependencies, by import name; torch belongs to the program
DEPENDENCIES = frozenset({"filelock", "importlib_metadata", "platformdirs", "psutil", "wrapt", "zipp"})
DEPENDENCIES |= {"exceptiongroup", "lazy_importer", "markdown_it", "mdurl", "pygments", "rich", "tomli"}
DEPENDENCIES |= {"typing_extensions"}
COMPILED = "__mypyc"  # ends the name of the module that a compiled package's code is in, tomli's for one

waiting: "list[Any]" = []  # removes the finder that waits for torch from ``sys.meta_path``

_changing = _thread.allocate_lock()
_before: "list[Any]" = []


def is_path_safe() -> bool:
    """Return whether Python keeps the program's folder off the path (``-P``, since Python 3.11)."""
    return getattr(sys.flags, "safe_path", False)


def put_first(finder: "Any") -> None:
    """Put ``finder`` first on ``sys.meta_path``, if it is not on it.

    The list is replaced, not changed: another thread may be iterating over it, and would skip a finder.
    """
    with _changing:
        _put_first(finder)


def take_away(finder: "Any") -> bool:
    """Remove ``finder``, and return whether it was there.

    Once no finder of morph's is left, the original list object is back.
    """
    with _changing:
        return _take_away(finder)


def withdraw() -> bool:
    """Stop waiting for torch: this process is activated in another way, or not at all.

    Returns:
        Whether it was waiting.
    """
    waited = take_away(morph)
    while waiting:
        waited |= take_away(waiting.pop())
    return waited


class _UnfinishedSpec(ModuleSpec):
    """The spec of a module whose code is running, until the import system sets ``_initializing`` to False.

    So ``importlib._bootstrap._load_unlocked`` ends each import, also one that fails, and has no hook.
    """

    @property
    def _initializing(self) -> bool:
        return bool(vars(self)["_initializing"])

    @_initializing.setter
    def _initializing(self, value: bool) -> None:
        with _changing:
            vars(self)["_initializing"] = value
            waiting = [] if value else vars(self).pop("waiting")
            if not value:
                self.__class__ = ModuleSpec  # type: ignore[assignment]
        for callback in waiting if self.name in sys.modules else ():  # it is not there if its code failed
            callback()


def when_complete(module: "ModuleType", callback: "Callable[[], object]") -> None:
    """Call ``callback()`` now, or at the end of the module's import if its code is still running."""
    spec: Any = getattr(module, "__spec__", None)
    with _changing:
        if type(spec) is ModuleSpec and vars(spec).get("_initializing"):
            vars(spec)["waiting"] = []
            spec.__class__ = _UnfinishedSpec
        waits = type(spec) is _UnfinishedSpec and spec._initializing
        if waits:
            vars(spec)["waiting"].append(callback)
    if not waits:
        callback()


def _put_first(finder: "Any") -> None:
    global _before
    if not any(each is finder for each in sys.meta_path):
        if not any(_is_ours(each) for each in sys.meta_path):
            _before = sys.meta_path
        sys.meta_path = [finder, *sys.meta_path]


def _take_away(finder: "Any") -> bool:
    kept = [each for each in sys.meta_path if each is not finder]
    if len(kept) == len(sys.meta_path):
        return False
    # another finder may have been added meanwhile; a thread that iterates over the list skips none then
    if not any(map(_is_ours, kept)) and {*map(id, _before)} <= {*map(id, kept)}:
        if [*map(id, _before)] != [*map(id, kept)]:
            _before[:] = kept
        kept = _before
    sys.meta_path = kept
    return True


def _is_ours(finder: "Any") -> bool:
    return getattr(finder, "__name__", type(finder).__module__).partition(".")[0] == "morph"


class OwnImports:
    """Imports morph's dependencies from their installation, for a thread inside a ``with`` block.

    The program's folder, the current one and ``PYTHONPATH`` come first on the path, and may contain modules
    of the same names that the program itself never imports.

    The import system calls finders while it holds its global lock. An import at that point may wait for
    threads that wait for the lock, so the block releases it.

    There is one instance, ``own_imports``.
    """

    def __init__(self) -> None:
        self._held: dict[int, list[bool]] = {}

    def __enter__(self) -> None:
        with _changing:
            _put_first(self)
            self._held.setdefault(_thread.get_ident(), []).append(_release_lock())

    def __exit__(
        self,
        kind: "type[BaseException] | None",
        error: "BaseException | None",
        traceback: "TracebackType | None",
    ) -> None:
        held = self._held[_thread.get_ident()]
        if held.pop():
            _imp.acquire_lock()
        with _changing:
            if not held:
                del self._held[_thread.get_ident()]
            if not self._held:
                _take_away(self)

    def find_spec(
        self, fullname: str, path: "Sequence[str] | None" = None, target: "ModuleType | None" = None
    ) -> "ModuleSpec | None":
        """Return the spec of a part or a dependency of morph's, for a thread inside the block."""
        if fullname.startswith("morph.") and _thread.get_ident() in self._held:
            return PathFinder.find_spec(fullname, path)  # pytest's hook, for one, would compile it otherwise
        is_ours = fullname in DEPENDENCIES or fullname.endswith(COMPILED)
        if not is_ours and fullname not in sys.stdlib_module_names:
            return None
        if fullname in sys.builtin_module_names or _imp.is_frozen(fullname):
            return None
        if path is not None or _thread.get_ident() not in self._held:
            return None
        untrusted = _folders_of_program()
        return PathFinder.find_spec(fullname, [entry for entry in sys.path if entry not in untrusted])


def _release_lock() -> bool:
    try:
        _imp.release_lock()
    except RuntimeError:  # this thread does not hold it
        return False
    return True


def _folders_of_program() -> set[str]:
    main = getattr(sys.modules.get("__main__"), "__file__", None) or sys.argv[0]
    path = os.path.join(current_folder() or os.sep, main)
    folders = {os.path.dirname(os.path.normpath(path)), os.path.dirname(os.path.realpath(path))}
    return folders.union(["", current_folder()], os.environ.get("PYTHONPATH", "").split(os.pathsep))


def current_folder() -> str:
    """Return the current folder; an empty text if it was deleted."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return ""


own_imports = OwnImports()
