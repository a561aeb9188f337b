# don't import any costly modules: a start-up file reaches this one
"""The ``sys.meta_path`` finder that runs callbacks after a module is loaded, without changing the load."""

from __future__ import annotations

import sys

from morph.base.importing import put_first, take_away, when_complete

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

    from morph.base.journal import Journal

    Callback = Callable[[ModuleType], object]


class Finder:
    """Finds modules that have callbacks; its loader calls them once the module is complete.

    There is one instance, ``finder``, which is on ``sys.meta_path`` while it has callbacks.
    """

    def __init__(self) -> None:
        self._callbacks: dict[str, list[Callback]] = {}
        self._prefixes: dict[str, Callback] = {}
        self._preparations: dict[str, Callable[[], object]] = {}
        self.executing: set[str] = set()

    def prepare(self, name: str, preparation: Callable[[], object]) -> None:
        """Call ``preparation()`` once, right before the watched module ``name`` is executed."""
        self._preparations[name] = preparation

    def watch(self, name: str, callback: Callback) -> None:
        """Call ``callback(module)`` after each execution of the module ``name``."""
        self._callbacks.setdefault(name, []).append(callback)
        put_first(self)

    def unwatch(self, name: str, callback: Callback) -> None:
        """Undo one ``watch``; do nothing if there was none."""
        callbacks = self._callbacks.get(name, [])
        if callback in callbacks:
            callbacks.remove(callback)
        if not callbacks:
            self._callbacks.pop(name, None)
            self._preparations.pop(name, None)
        self._uninstall_if_idle()

    def watches(self, name: str, callback: Callback) -> bool:
        """Return whether ``callback`` is called after the next execution of the module ``name``."""
        return callback in self._callbacks.get(name, ())

    def watch_below(self, package: str, callback: Callback) -> None:
        """Call ``callback(module)`` after each execution of a submodule of ``package``, at any depth."""
        self._prefixes[package + "."] = callback
        put_first(self)

    def unwatch_below(self, package: str) -> None:
        """Undo one ``watch_below``; do nothing if there was none."""
        self._prefixes.pop(package + ".", None)
        self._uninstall_if_idle()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the module's spec with a loader that calls back (PEP 451), or None without callbacks."""
        if fullname not in self._callbacks and not any(map(fullname.startswith, self._prefixes)):
            return None
        spec = find_elsewhere(self, fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = CallingLoader(spec.loader, self)  # type: ignore[assignment]
        return spec

    def before_execution(self, fullname: str) -> None:
        """Call the preparations for ``fullname``; only the loader calls this."""
        self._preparations.pop(fullname, lambda: None)()

    def after_execution(self, fullname: str, module: ModuleType) -> None:
        """Call the callbacks for ``fullname``; only the loader calls this."""
        for callback in list(self._callbacks.get(fullname, ())):
            callback(module)
        for prefix, callback in list(self._prefixes.items()):
            if fullname.startswith(prefix):
                callback(module)

    def _uninstall_if_idle(self) -> None:
        if not self._callbacks and not self._prefixes:
            take_away(self)


class CallingLoader:
    """Loads through the real loader, leaves no trace on the module, then runs the callbacks."""

    def __init__(self, loader: Any, finder: Finder) -> None:
        self._loader = loader
        self._finder = finder

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Create the module through its own loader."""
        module: ModuleType | None = self._loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Execute the module through its own loader, then run the callbacks."""
        spec: Any = module.__spec__
        spec.loader = module.__loader__ = self._loader
        # importlib.reload() of a proxy: torch's code has run already, and the table is unchanged
        if hasattr(type(module), "__wrapped__"):
            return
        from morph.base import garbage  # most processes under morph load no watched module

        # torch's import sets off hundreds of collections, all of objects that stay
        with garbage.only_young(spec.name == "torch"):
            self._finder.before_execution(spec.name)
            self._finder.executing.add(spec.name)
            try:
                self._loader.exec_module(module)
            finally:
                self._finder.executing.discard(spec.name)
            self._finder.after_execution(spec.name, module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


finder = Finder()


def on_import(name: str, callback: Callback, journal: Journal, change: str = "") -> None:
    """Call ``callback(module)`` once ``name`` is imported: now if it already is, else after its execution.

    A callback that raises is skipped and ``journal`` records the reason: it must not abort the import. A
    module that is being imported, by this thread or by another one, is waited for.

    Args:
        name: The module's name.
        callback: Changes the module.
        journal: Records the changes.
        change: The name of what the callback changes, if not the module as a whole.
    """

    def call(module: ModuleType) -> None:
        with journal.tolerating(change or f"{name}: {callback.__qualname__}"):
            callback(module)

    journal.on_undo(lambda: finder.unwatch(name, call))
    finder.watch(name, call)
    module = sys.modules.get(name)
    if module is not None and name not in finder.executing:  # else it is called back after the execution
        when_complete(module, lambda: call(module) if finder.watches(name, call) else None)


def find_elsewhere(
    own: object, fullname: str, path: Sequence[str] | None, target: ModuleType | None
) -> ModuleSpec | None:
    """Return a module's spec from the finders on ``sys.meta_path`` other than ``own``."""
    for other in list(sys.meta_path):
        if other is not own and hasattr(other, "find_spec"):
            spec = other.find_spec(fullname, path, target)
            if spec is not None:
                return spec
    return None
