"""The backends, and the active one."""

from __future__ import annotations

import importlib
import importlib.util
import operator
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.machinery import SourceFileLoader
from types import ModuleType
from typing import TYPE_CHECKING, Any

from morph.base.errors import ActivationError
from morph.base.importing import own_imports

if TYPE_CHECKING:
    from morph.backends.tables.table import Facts, Table


@dataclass(frozen=True)
class Backend:
    """A backend that code written for CUDA can run on.

    Attributes:
        table: Its alias table.
        simulated: Whether the simulated device stands in for the hardware and the vendor's package.
    """

    table: Table
    simulated: bool = False

    @property
    def name(self) -> str:
        """The name that users give: ``"npu"``."""
        return self.table.facts.name

    @property
    def device_type(self) -> str:
        """torch's name of the device type: ``"npu"``."""
        return self.table.facts.device_type

    @property
    def vendor(self) -> str | None:
        """The import name of the vendor's package, or None where torch itself has the device."""
        return self.table.facts.vendor or None

    @property
    def module(self) -> str:
        """The dotted name of the counterpart of torch.cuda: ``"torch.npu"``."""
        return self.table.facts.module

    @property
    def collective(self) -> str:
        """The process-group backend that stands for nccl: ``"hccl"``."""
        return self.table.facts.collective

    @cached_property
    def namespace(self) -> Any:
        """The module that ``module`` names; the vendor's package must be imported."""
        return resolve(self.module)


def is_installed(facts: Facts) -> bool:
    """Return whether a vendor's package, or a torch built for its device, is installed; imports neither."""
    if facts.built:
        return _torch_version().get(facts.built) is not None
    return not facts.vendor or importlib.util.find_spec(facts.vendor) is not None


_active: Backend | None = None


def active() -> Backend | None:
    """Return the backend that is active in this process, or None."""
    return _active


def set_active(backend: Backend | None) -> None:
    """Make ``backend`` the active one; only activation calls this."""
    global _active
    _active = backend


def vendor_module() -> Any:
    """Return the active backend's counterpart of ``torch.cuda``, such as ``torch.npu``.

    Raises:
        ActivationError: If no backend is active.
    """
    if _active is None:
        raise ActivationError("no backend is active; call morph.activate() first")
    return _active.namespace


def _torch_version() -> Mapping[str, Any]:
    """Return the names of torch.version, from its file where torch is not imported."""
    imported = sys.modules.get("torch.version")
    if imported is not None:
        return vars(imported)
    torch = importlib.util.find_spec("torch")
    if torch is None or not torch.submodule_search_locations:
        return {}
    file = os.path.join(torch.submodule_search_locations[0], "version.py")
    namespace: dict[str, Any] = {}
    code = SourceFileLoader("torch.version", file).get_code("torch.version")
    if code is not None:
        exec(code, namespace)
    return namespace


def resolve(name: str) -> Any:
    """Return the object of a dotted ``name``, importing modules on the way.

    Raises:
        AttributeError: If a part of the name does not exist.
    """
    root, _, rest = name.partition(".")
    with own_imports:
        module = importlib.import_module(root)
        try:
            return operator.attrgetter(rest)(module) if rest else module
        except AttributeError:
            return _resolve_by_import(name)


def _resolve_by_import(name: str) -> Any:
    parent, _, last = name.rpartition(".")
    owner = resolve(parent) if parent else None
    if hasattr(owner, last):  # the parent has only now been imported
        return getattr(owner, last)
    if isinstance(owner, ModuleType):
        try:
            # by its own name: torch.npu.memory is torch_npu.npu.memory, and would be executed a second time
            return importlib.import_module(f"{owner.__name__}.{last}")
        except ModuleNotFoundError:
            pass
    raise AttributeError(f"{parent} has no attribute {last!r}", name=last, obj=owner)
