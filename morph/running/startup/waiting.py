# don't import any costly modules: most Pythons under morph reach this one
"""The finders that wait for the import of torch."""

from __future__ import annotations

import os
import sys

from morph.base import importing, variables
from morph.base.announcement import say_inactive
from morph.base.importing import own_imports, put_first, take_away
from morph.finders.finder import find_elsewhere
from morph.finders.packages.finder import packages
from morph.finders.scope import LEFT_ALONE, OPTED_IN, Policy, Scope, loads_cuda

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

    from morph.activation.configuration import Settings
    from morph.activation.request import Observer


def begin(*, required: bool) -> None:
    """Activate morph when torch is imported, and serve packages.

    Args:
        required: Whether the import of torch fails if the requested backend cannot be used.
    """
    packages.install(ConfiguredScope())
    torch_finder.required = required
    put_first(torch_finder)
    importing.waiting.append(torch_finder)


class ConfiguredScope(Scope):
    """The configured policies; the configuration is read at first use, and most processes never use it."""

    def policy(self, module: str) -> Policy:
        """Return the policy for the code of ``module``."""
        found = settings()
        return found.scope.policy(module) if found else LEFT_ALONE


def settings() -> Settings | None:
    """Return the effective settings, or None, with a report, if the configuration is invalid."""
    global _is_misconfigured
    with own_imports:
        from morph.activation import configuration
        from morph.base.errors import MorphError
    try:
        with own_imports:
            return _with_program(configuration.effective())
    except MorphError as error:
        if not _is_misconfigured:
            _is_misconfigured = True
            say_inactive(error)
        return None


def _with_program(found: Settings) -> Settings:
    """Return the settings with the program itself, and the modules beside it, among what has opted in."""
    if found.scope.others is OPTED_IN:
        return found
    if found not in _with_programs:
        from dataclasses import replace

        scope = found.scope.including(["__main__", *_beside_program()])
        _with_programs[found] = replace(found, scope=scope)
    return _with_programs[found]


def _beside_program() -> Iterable[str]:
    from pathlib import Path

    from morph.base.importing import is_path_safe
    from morph.running.startup.beside import modules_beside

    script = sys.argv[0] if sys.argv else ""
    is_script = os.path.isfile(script) and not is_path_safe()
    return modules_beside(Path(script).resolve().parent) if is_script else ()


_is_misconfigured = False
_with_programs: dict[Settings, Settings] = {}


class TorchFinder:
    """Arms morph when torch is looked for, and removes itself.

    There is one instance, ``torch_finder``.

    Attributes:
        required: Whether the import of torch fails if the requested backend cannot be used.
    """

    def __init__(self) -> None:
        self.required = False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return torch's spec as morph's own finder gives it, or None for any other module."""
        if fullname != "torch" and not loads_cuda(fullname):
            return None
        spec = find_elsewhere(self, fullname, path, target)
        if spec is None or spec.submodule_search_locations is None:  # a module that happens to have this name
            return spec
        return self._armed(fullname, path, target) or spec

    def _armed(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None
    ) -> ModuleSpec | None:
        from morph.finders.finder import finder

        take_away(self)
        try:
            with own_imports:
                _arm(required=self.required)
        except Exception as error:
            if self.required:
                raise
            packages.uninstall()
            say_inactive(error)
        return finder.find_spec(fullname, path, target)


def _arm(*, required: bool) -> None:
    from morph import activation

    found = settings()
    if found is None:
        return
    rehearse = variables.read(variables.REHEARSE)
    request = activation.Request(rehearse, scope=found.scope, required=required)
    request.simulated, request.observer = rehearse is not None, _observer()
    activation.arm(request)


def _observer() -> Observer | None:
    """Return the recorder of the names that the program uses in this process, if they are recorded."""
    if variables.RECORDS not in os.environ:
        return None
    from morph.evidence.rehearsal.processes import observer

    return observer()


torch_finder = TorchFinder()
