"""Decides between a real installation of a package and morph's version."""

from __future__ import annotations

import _ctypes
import _thread
import ctypes
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from types import ModuleType

from morph.backends.tables.package import Package
from morph.base.announcement import report_once
from morph.finders.packages.folders import PACKAGES

SERVED_LIBRARIES: set[str] = (
    set()
)  # the file names of the shared libraries that morph has loaded in place of CUDA's


class Decisions:
    """Decides which packages are served: those that are not installed or cannot load.

    Args:
        find_real: Returns the spec of a top-level module that is not morph's, or None.
        in_use: Returns whether morph serves packages at all.
    """

    def __init__(self, find_real: Callable[[str], ModuleSpec | None], in_use: Callable[[], bool]) -> None:
        self.find_real = find_real
        self._in_use = in_use
        self._served: dict[str, bool] = {}
        self._problems: dict[str, str] = {}
        self._aside: set[tuple[str, int]] = set()

    def known(self, package: Package) -> bool | None:
        """Return whether ``package`` is served, or None if that is undecided."""
        if (package.name, _thread.get_ident()) in self._aside:
            return False
        return self._served.get(package.name)

    def serves(self, package: Package) -> bool:
        """Decide whether ``package`` is served; an installed one is imported to find out."""
        if self.known(package) is None:
            with self.standing_aside(package):
                self._decide(package)
        return bool(self.known(package))

    def likely(self, package: Package) -> bool:
        """Return whether ``package`` is likely served, without importing it."""
        known = self.known(package)
        return not self._is_installed(package) if known is None else known

    def leave(self, package: Package) -> None:
        """Decide that ``package`` is not served."""
        self._served[package.name] = False

    def say_replaced(self, package: Package) -> None:
        """Report, once per process tree, which installation ``package`` replaces and why, if any."""
        problem = self._problems.get(package.name)
        if problem:
            name = package.distributions[0]
            line = f"{name} is installed but cannot load ({problem}); morph serves {package.name}"
            report_once(package.name, line)

    @contextmanager
    def standing_aside(self, package: Package) -> Iterator[None]:
        """Serve nothing of ``package`` to this thread inside a ``with`` block."""
        key = package.name, _thread.get_ident()
        self._aside.add(key)
        try:
            yield
        finally:
            self._aside.discard(key)

    def _decide(self, package: Package) -> None:
        if "torch" not in sys.modules and _cannot_load("libcuda.so.1") is None:
            import torch  # noqa: F401  (after which morph stays inactive if an NVIDIA GPU works)
        if not self._in_use():
            return
        installed = self._is_installed(package)
        problem = _problem(package) if installed else None
        if problem:
            self._problems[package.name] = problem
        self._served.setdefault(package.name, not installed or problem is not None)

    def _is_installed(self, package: Package) -> bool:
        module = sys.modules.get(package.name)
        if module is not None:
            return not is_ours(module)
        spec = self.find_real(package.name)
        return spec is not None and spec.origin is not None  # not a folder of the same name


def is_ours(module: ModuleType) -> bool:
    """Return whether ``module`` comes from morph's trees, whichever loader executes it, and at any stage."""
    file = getattr(module, "__file__", None)  # its spec has the real origin until it is executed
    return file is not None and file.startswith(PACKAGES + os.sep)


def imported(names: Iterable[str]) -> list[str]:
    """Return the names of the imported modules below the top-level ``names``, themselves included."""
    return [name for name in list(sys.modules) if name.partition(".")[0] in names]


def _problem(package: Package) -> str | None:
    """Return why the installed ``package`` cannot load, or None if it loads."""
    if "/" in package.library:
        import torch  # noqa: F401  (which loads the libraries that it needs)

        spec = importlib.util.find_spec(package.name)
        assert spec is not None
        assert spec.origin is not None
        site = os.path.dirname(os.path.dirname(spec.origin))
        return _cannot_load(os.path.join(site, package.library))
    return _cannot_load(package.library) if package.library else _cannot_import(package)


def _cannot_import(package: Package) -> str | None:
    """Return why the ``package`` cannot be imported, or None if it can."""
    before = set(imported(package.import_names))
    try:
        for name in package.probe or package.import_names[:1]:
            importlib.import_module(name)
    except Exception as error:  # it may raise any exception
        for name in set(imported(package.import_names)) - before:
            if not is_ours(sys.modules[name]):  # another thread has imported it meanwhile
                del sys.modules[name]
        return f"{type(error).__name__}: {error}".partition("\n")[0]
    return None


def _cannot_load(library: str) -> str | None:
    """Return why the shared ``library`` cannot be loaded, or None if it can."""
    if library in SERVED_LIBRARIES:
        return "it is served by morph"
    try:
        _ctypes.dlopen(library, ctypes.DEFAULT_MODE)  # not what stands in its place
    except OSError as error:
        return str(error)
    return None
