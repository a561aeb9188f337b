"""Serves whole packages: decides between a real installation and morph's own tree, and loads the tree."""

from __future__ import annotations

import _thread
import copy
import importlib
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import spec_from_file_location
from types import FrameType, ModuleType
from typing import Any

from morph.aliases import package as packages
from morph.aliases.package import Package
from morph.finders.distributions import distribution, normalized
from morph.finders.finder import find_elsewhere
from morph.finders.loaders import LoadedLoader, TreeLoader

SAID = "MORPH_REPLACED"

_IMPORT_SYSTEM = ("importlib", "_frozen_importlib", "morph.finders", "morph.launcher")
_TORCH = frozenset({"torch", "functorch"})


class Trees:
    """The packages that have a tree, and what was decided and served in this process.

    Args:
        finder: Who asks; it is passed over when a real installation is looked for.
    """

    def __init__(self, finder: Any) -> None:
        self._finder = finder
        self._served: dict[str, bool] = {}
        self._trying: set[tuple[str, int]] = set()
        self._loaded: dict[str, ModuleType] = {}
        self._hidden: dict[str, ModuleType] = {}
        self._replaced: dict[str, ModuleType] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None, frame: FrameType
    ) -> ModuleSpec | None:
        """Return the spec of a module of a served package; None leaves it to the other finders.

        Args:
            fullname: The module's dotted name.
            path: Where its parent looks for submodules; None for a top-level module.
            target: The module that is being reloaded, if any.
            frame: The frame that asks the finder.

        Raises:
            ModuleNotFoundError: If the submodule is missing, with the reason, or is not for the one who asks.
        """
        package = self._package(fullname.partition(".")[0])
        if package is None:
            return None
        if _is_for_torch(frame, package):
            if path is None:
                return None
            raise _not_found(fullname, "it is served to programs only")
        if not self._serves(package):
            return self._real(fullname) if path is None and target is None else None
        if fullname in self._hidden:
            return _spec_of_loaded(self._hidden[fullname])
        return self._own(package, fullname, path, frame)

    def find_distributions(self, context: Any) -> Iterator[Any]:
        """Return the served distributions that ``context`` asks for: by a name, or all."""
        library = sys.modules[type(context).__module__]
        for package in self._packages():
            for name in package.distributions:
                if context.name is None and self._stands_in(package):
                    yield distribution(package, name, library)
                elif context.name and normalized(context.name) == normalized(name) and self._serves(package):
                    yield distribution(package, name, library)

    def take_over(self, name: str) -> None:
        """Remove the imported module ``name`` if its package cannot load, to be put back by ``restore``."""
        package = self._package(name)
        if package is None or name in self._loaded or sys.modules[name] is None or not self._serves(package):
            return
        for each in _imported([name]):
            self._replaced[each] = sys.modules.pop(each)

    def restore(self) -> None:
        """Remove what was served from ``sys.modules``, and put back what was replaced."""
        self.show()
        for name, module in self._loaded.items():
            if sys.modules.get(name) is module and not getattr(module.__spec__, "_initializing", False):
                del sys.modules[name]
        sys.modules.update(self._replaced)
        os.environ.pop(SAID, None)

    def hide(self) -> None:
        """Take what is served out of ``sys.modules``; whoever may have it still gets the same modules."""
        for name, module in self._loaded.items():
            if sys.modules.get(name) is module:
                self._hidden[name] = sys.modules.pop(name)

    def show(self) -> None:
        """Put what was hidden back."""
        while self._hidden:
            sys.modules.setdefault(*self._hidden.popitem())

    def _packages(self) -> Iterator[Package]:
        return (packages.load(name) for name in self._finder.names if (packages.ALIASES / name).is_dir())

    def _package(self, name: str) -> Package | None:
        return next((each for each in self._packages() if name in each.import_names), None)

    def _serves(self, package: Package) -> bool:
        key = package.name, _thread.get_ident()
        if package.name not in self._served and key not in self._trying:
            self._trying.add(key)
            try:
                self._decide(package)
            finally:
                self._trying.discard(key)
        return self._served.get(package.name, False)

    def _decide(self, package: Package) -> None:
        if "torch" not in sys.modules and _loads("libcuda.so.1") is None:
            import torch  # noqa: F401  (where a GPU of NVIDIA's works, morph stays out)
        if self._finder not in sys.meta_path:
            return
        installed = self._is_installed(package)
        problem = self._problem(package) if installed else None
        if problem:
            _say_replaced(package, problem)
        self._served.setdefault(package.name, not installed or problem is not None)

    def _is_installed(self, package: Package) -> bool:
        if sys.modules.get(package.name) is not None and package.name not in self._loaded:
            return True
        spec = find_elsewhere(self._finder, package.name, None, None)
        return spec is not None and spec.origin is not None  # a folder that happens to be called so has none

    def _stands_in(self, package: Package) -> bool:
        served = self._served.get(package.name)
        return not self._is_installed(package) if served is None else served

    def _problem(self, package: Package) -> str | None:
        """Return why the real ``package`` cannot load, or None if it does."""
        if package.library:
            return _loads(package.library)
        before = set(_imported(package.import_names))
        try:
            for name in package.probe or package.import_names[:1]:
                importlib.import_module(name)
        except Exception as error:  # it may raise anything
            for name in set(_imported(package.import_names)) - before:
                del sys.modules[name]
            return f"{type(error).__name__}: {error}".partition("\n")[0]
        return None

    def _real(self, fullname: str) -> ModuleSpec | None:
        """Return a spec of the real package that hands over what trying it has imported just now."""
        module = sys.modules.get(fullname)
        return None if module is None or module.__spec__ is None else _spec_of_loaded(module)

    def _own(
        self, package: Package, fullname: str, path: Sequence[str] | None, frame: FrameType
    ) -> ModuleSpec | None:
        if path is None:
            file = packages.top_level(package, fullname)
            folders = [str(file.parent)] if file.name == "__init__.py" else None
            return self._tree_spec(package, fullname, str(file), folders)
        spec = PathFinder.find_spec(fullname, path)
        if spec is not None and spec.origin is not None:
            return self._tree_spec(package, fullname, spec.origin, spec.submodule_search_locations)
        row = package.missing(fullname)
        if row is not None and _is_import(frame):
            raise _not_found(fullname, row.note)
        return None

    def _tree_spec(
        self, package: Package, fullname: str, file: str, folders: list[str] | None
    ) -> ModuleSpec | None:
        loader = TreeLoader(fullname, file, package, self._loaded)
        return spec_from_file_location(fullname, file, loader=loader, submodule_search_locations=folders)


def _is_for_torch(frame: FrameType, package: Package) -> bool:
    """Tell whether code of torch's or of a vendor's asks for ``package``, which it then names itself.

    Where its code does not, it imports what a program has told it to: to unpickle, to trace, to run a module.
    """
    asking = _importer(frame)
    if asking is None or _module_of(asking).partition(".")[0] not in _torch_and_vendors():
        return False
    named = (*asking.f_code.co_names, *asking.f_code.co_consts)
    return any(isinstance(each, str) and each.partition(".")[0] in package.import_names for each in named)


def _torch_and_vendors() -> Iterable[str]:
    if "torch" not in sys.modules:
        return _TORCH
    from morph.aliases import table

    vendors = (table.load(name).facts.vendor for name in table.backend_names())
    return _TORCH.union(filter(None, vendors))


def _importer(frame: FrameType | None) -> FrameType | None:
    """Return the frame whose code asks the import system for something."""
    while frame is not None and _module_of(frame).startswith(_IMPORT_SYSTEM):
        frame = frame.f_back
    return frame


def _module_of(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def _is_import(frame: FrameType) -> bool:
    """Tell whether the finder is asked by an import, and not by ``importlib.util.find_spec``."""
    caller = frame.f_back
    return caller is not None and caller.f_code.co_name.startswith("_find_and_load")


def _not_found(fullname: str, reason: str) -> ModuleNotFoundError:
    return ModuleNotFoundError(f"No module named {fullname!r}: {reason}", name=fullname)


def _imported(names: Iterable[str]) -> list[str]:
    return [name for name in sys.modules if name.partition(".")[0] in names]


def _loads(library: str) -> str | None:
    """Return why the shared ``library`` cannot be loaded, or None if it can."""
    import ctypes

    try:
        ctypes.CDLL(library)
    except OSError as error:
        return str(error)
    return None


def _spec_of_loaded(module: ModuleType) -> ModuleSpec:
    spec = copy.copy(module.__spec__)
    assert spec is not None
    spec.loader = LoadedLoader(module)  # type: ignore[assignment]
    return spec


def _say_replaced(package: Package, problem: str) -> None:
    """Say it once in a family of processes."""
    from morph.announcement import report

    said = os.environ.get(SAID, "").split()
    if package.name not in said:
        os.environ[SAID] = " ".join([*said, package.name])
        name = package.distributions[0]
        report(f"{name} is installed but cannot load ({problem}); morph serves {package.name}")
