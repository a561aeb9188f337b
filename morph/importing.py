# imports nothing that is not there already: it is imported while the import system's lock is held
"""The import system: its list of finders, its one global lock, and where morph's own imports come from."""

import _imp
import _thread
import os
import sys
from _frozen_importlib_external import PathFinder

import morph

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType, TracebackType
    from typing import Any

# the distributions that morph depends on, and theirs, by import name; torch is the program's
DEPENDENCIES = frozenset({"filelock", "importlib_metadata", "platformdirs", "psutil", "wrapt", "zipp"})
DEPENDENCIES |= {"lazy_importer", "markdown_it", "mdurl", "pygments", "rich"}

waiting: "list[Any]" = []  # what has to be taken off ``sys.meta_path`` when nothing waits for torch any more

_changing = _thread.allocate_lock()
_before: "list[Any]" = []


def put_first(finder: "Any") -> None:
    """Have ``finder`` asked before all others, if it is not asked already.

    The list is replaced and not changed: another thread may be going through it, and would leave one out.
    """
    with _changing:
        _put_first(finder)


def take_away(finder: "Any") -> None:
    """Have ``finder`` asked no more; without finders of morph's, the list is the one that it was."""
    with _changing:
        _take_away(finder)


def withdraw() -> None:
    """Wait for torch no longer: this process is activated by other means, or not at all."""
    take_away(morph)
    sys.path_hooks[:] = [hook for hook in sys.path_hooks if hook is not morph.claim_script]
    while waiting:
        take_away(waiting.pop())


def _put_first(finder: "Any") -> None:
    global _before
    if not any(each is finder for each in sys.meta_path):
        if not any(_is_ours(each) for each in sys.meta_path):
            _before = sys.meta_path
        sys.meta_path = [finder, *sys.meta_path]


def _take_away(finder: "Any") -> None:
    kept = [each for each in sys.meta_path if each is not finder]
    if len(kept) == len(sys.meta_path):
        return
    # somebody may have added a finder meanwhile, and who is going through the list leaves none out then
    if not any(map(_is_ours, kept)) and {*map(id, _before)} <= {*map(id, kept)}:
        if [*map(id, _before)] != [*map(id, kept)]:
            _before[:] = kept
        kept = _before
    sys.meta_path = kept


def _is_ours(finder: "Any") -> bool:
    return getattr(finder, "__name__", type(finder).__module__).partition(".")[0] == "morph"


class OwnImports:
    """What morph depends on is imported from where it is installed, by a thread inside a ``with`` block.

    A program's own folder, the current one and ``PYTHONPATH`` come first on the path, and may hold modules of
    the same names, which the program itself would never have imported.

    The import system asks finders while it holds its one global lock. Who imports something then, waits for
    threads that wait for that lock: so it is let go of inside the block.

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
        """Return the spec of a module that morph depends on, for a thread inside the block."""
        if fullname not in DEPENDENCIES and fullname not in sys.stdlib_module_names:
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
    folders = {os.path.dirname(os.path.abspath(main)), os.path.dirname(os.path.realpath(main))}
    return folders.union(["", _current_folder()], os.environ.get("PYTHONPATH", "").split(os.pathsep))


def _current_folder() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        return ""


own_imports = OwnImports()
