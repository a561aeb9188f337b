"""Serves whole packages from morph's trees where no real installation works."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import module_from_spec, spec_from_file_location
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any

from morph.backends.tables.package import Package, load
from morph.base.announcement import forget
from morph.finders.packages import folders
from morph.finders.packages.decisions import Decisions, imported, is_ours
from morph.finders.packages.importers import is_import
from morph.finders.packages.loader import TreeLoader
from morph.finders.packages.metadata import distribution, normalized
from morph.finders.packages.module_cache import is_being_imported, module_cache

if TYPE_CHECKING:
    from morph.finders.scope import Policy


class Trees:
    """The packages that have a tree, and those of their modules that were served in this process.

    Args:
        names: The top-level names of all packages that can be served.
        decisions: Decides which are.
    """

    def __init__(self, names: Iterable[str], decisions: Decisions) -> None:
        module_cache.take_away_unfinished()
        self._decisions = decisions
        loaded = [load(name) for name in sorted(names) if folders.has_tree(name)]
        self._packages = {name: package for package in loaded for name in package.import_names}
        self._loaded: dict[str, ModuleType] = {}
        self._hidden: dict[str, ModuleType] = {}
        self._replaced: dict[str, ModuleType] = {}
        self._real_specs: dict[str, ModuleSpec | None] = {}

    def package(self, name: str) -> Package:
        """Return the package of the top-level ``name``."""
        return self._packages[name]

    def served(self, name: str) -> bool | None:
        """Return, without any import, whether the top-level ``name`` is served; None if undecided."""
        return self._decisions.known(self._packages[name])

    def create(self, name: str) -> ModuleType:
        """Return the top-level module ``name``: a real one, completely executed, or morph's.

        Raises:
            ImportError: If the package is real and lacks the module.
        """
        if name in self._hidden:
            return self._hidden[name]
        package = self._packages[name]
        if self._decisions.serves(package):
            self._decisions.say_replaced(package)
            return module_from_spec(self._top_level_spec(name))
        with self._decisions.standing_aside(package):
            module = importlib.import_module(name)
        self._real_specs[name] = module.__spec__
        return module

    def execute(self, module: ModuleType) -> None:
        """Execute a module from ``create`` unless it is complete, or execute a reloaded module."""
        name = module.__name__
        if name in self._real_specs:
            module.__spec__ = self._real_specs.pop(name)
            return
        own = self._top_level_spec(name)
        loader: Any = own.loader
        spec: Any = module.__spec__  # keeps the import system's flag that makes other threads wait
        spec.loader = module.__loader__ = loader
        spec.origin, spec.cached = own.origin, own.cached
        spec.submodule_search_locations = own.submodule_search_locations
        if name not in self._hidden:
            loader.exec_module(module)

    def loader(self, name: str) -> Any:
        """Return the loader of the top-level module ``name``."""
        if self._decisions.serves(self._packages[name]):
            return self._top_level_spec(name).loader
        real = self._decisions.find_real(name)
        return real.loader if real else None

    def find_submodule(
        self, fullname: str, path: Sequence[str], frame: FrameType, stranger: bool
    ) -> ModuleSpec | None:
        """Return the spec of a submodule of a served package, or None if there is none.

        Args:
            fullname: The submodule's dotted name.
            path: The parent's ``__path__``.
            frame: The frame that called the finder.
            stranger: Whether it is not served to the importer.

        Raises:
            ModuleNotFoundError: If it is missing, with the reason, or not served to the importer.
        """
        package = self._packages[fullname.partition(".")[0]]
        if not self._decisions.known(package):
            return None
        if stranger:
            raise _not_found(fullname, "morph does not serve it to torch, nor to code that has not opted in")
        spec = PathFinder.find_spec(fullname, path)
        if spec is not None and spec.origin is not None:
            return self._spec(fullname, spec.origin, spec.submodule_search_locations)
        row = package.missing(fullname)
        if row is not None and is_import(frame):
            raise _not_found(fullname, row.note)
        return None

    def find_distributions(self, context: Any, policy: Policy) -> Iterator[Any]:
        """Yield the served distributions that match ``context`` and that ``policy`` allows."""
        library = sys.modules[type(context).__module__]
        packages = (each for each in dict.fromkeys(self._packages.values()) if policy.serves(each.name))
        for package in packages:
            for name in self._asked_for(package, context.name):
                yield distribution(package, name, library)

    def take_over(self, name: str) -> None:
        """Remove the imported module ``name`` if its package cannot load; ``restore`` puts it back."""
        if name not in self._loaded and self._decisions.serves(self._packages[name]):
            present = [] if is_being_imported(name) else imported([name])
            taken = {each: sys.modules.pop(each) for each in present}
            self._replaced.update((each, module) for each, module in taken.items() if not is_ours(module))

    def give_back(self, name: str) -> None:
        """Put the real modules of a package in the place of the served ones, if one is installed."""
        package = self._packages[name]
        if self._decisions.find_real(name) is None:
            return
        self._decisions.leave(package)
        for each in imported(package.import_names):
            if is_ours(sys.modules[each]):
                del sys.modules[each]
        for each in [each for each in self._replaced if each.partition(".")[0] in package.import_names]:
            sys.modules[each] = self._replaced.pop(each)

    def restore(self) -> None:
        """Remove the served modules from ``sys.modules``, and put back the replaced ones."""
        self.show()
        module_cache.put_away(self._loaded)
        for name, module in self._replaced.items():
            sys.modules.setdefault(name, module)
        forget(self._packages)

    def hide(self) -> None:
        """Remove the served packages from ``sys.modules``; code that may use them still gets them."""
        for name in self._packages:
            if name in self._loaded and sys.modules.get(name) is self._loaded[name]:
                self._hidden[name] = sys.modules.pop(name)

    def show(self) -> None:
        """Put the hidden modules back, replacing those that torch has imported meanwhile."""
        while self._hidden:
            name, module = self._hidden.popitem()
            replaced = sys.modules.get(name, module)
            if replaced is not module:
                self._replaced[name] = replaced
            sys.modules[name] = module

    def _asked_for(self, package: Package, asked: str | None) -> Sequence[str]:
        """Return the names of the distributions of ``package`` that are asked for, if it is served."""
        if asked is None:  # all: the installed one is looked for once, not for each name
            return package.distributions if self._decisions.likely(package) else ()
        wanted = [name for name in package.distributions if normalized(name) == normalized(asked)]
        return wanted if wanted and self._decisions.serves(package) else ()

    def _top_level_spec(self, name: str) -> ModuleSpec:
        file = folders.top_level(name)
        return self._spec(name, file, folders.folders_of(file))

    def _spec(self, fullname: str, file: str, searched: list[str] | None) -> ModuleSpec:
        package = self._packages[fullname.partition(".")[0]]
        loader = TreeLoader(fullname, file, package, self._loaded)
        spec = spec_from_file_location(fullname, file, loader=loader, submodule_search_locations=searched)
        assert spec is not None
        return spec


def _not_found(fullname: str, reason: str) -> ModuleNotFoundError:
    return ModuleNotFoundError(f"No module named {fullname!r}: {reason}", name=fullname)
