"""Records a surface: the public names of installed modules, by import, and their signatures, from source."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import warnings
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from morph.backends import resolve
from morph.backends.autoload import import_torch
from morph.backends.tables.surfaces import Class, Surface
from morph.base.errors import MorphError
from morph.evidence.surfaces.sources import names_defined_in, signature_of, stub

# Private names that torch, or code written for CUDA, uses.
PRIVATE = frozenset(
    """
    _CudaBase _CudaDeviceProperties _DeviceGuard _NPUBase _XPUAllocator _XpuDeviceProperties _after_fork
    _cached_device_count _dump_snapshot _exchange_device _get_current_allocator _get_device
    _get_device_index _get_generator _get_rng_state_offset _initialized _is_compiled _is_in_bad_fork
    _lazy_call _lazy_init _lazy_new _maybe_exchange_device _nvml_based_avail _parse_visible_devices
    _record_memory_history _set_allocator_settings _set_rng_state_offset _set_stream_by_id _sleep
    _snapshot
    """.split()
)
METHODS = ("__enter__", "__exit__", "_as_parameter_")


class RecordingError(MorphError):
    """A module cannot be recorded."""


def record(
    package: str, version: str, modules: Sequence[str], origin: str, report: Callable[[str], None] = print
) -> Surface:
    """Record the public names of modules, which are imported.

    Args:
        package: The import name of the package that has them; it is imported first.
        version: Its release.
        modules: Dotted names, the main one first, ``["torch.npu"]``; submodules are recorded too.
        origin: The origin of the recording, for the readers of the file.
        report: Called with one line for each submodule that is left out because it fails to load.

    Raises:
        RecordingError: If a module does not exist.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import_torch()  # which must not fail because of another vendor's package
        _import(package)
        recorder = _Recorder(report)
        for name in modules:
            recorder.add(name, _module(name))
    return Surface(
        package,
        version,
        modules[0],
        origin,
        frozenset(recorder.modules),
        dict(sorted(recorder.functions.items())),
        dict(sorted(recorder.classes.items())),
        frozenset(recorder.values),
    )


def _import(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except Exception as error:  # a vendor's package may raise anything
        problem = str(error).strip().partition("\n")[0]
        raise RecordingError(f"{name} fails to load: {type(error).__name__}: {problem}") from None


def _module(name: str) -> ModuleType:
    try:
        found = resolve(name)
    except (AttributeError, ImportError) as error:
        raise RecordingError(f"there is no {name} to record: {error}") from None
    if not inspect.ismodule(found):
        raise RecordingError(f"{name} is no module")
    return found


class _Recorder:
    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self.modules: set[str] = set()
        self.functions: dict[str, str] = {}
        self.classes: dict[str, Class] = {}
        self.values: set[str] = set()
        self._homes: dict[type, str] = {}

    def add(self, name: str, module: ModuleType, *, is_root: bool = True) -> None:
        """Record the names of ``module`` under ``name``, and then those of its submodules."""
        self.modules.add(name)
        public = _Public(module, is_root)
        for each, value in sorted(_names(module).items()):
            if public.has(each, value):
                self._add_name(f"{name}.{each}", value)
        for each in _submodules(module):
            self._add_submodule(name, module, each)

    def _add_submodule(self, name: str, module: ModuleType, last: str) -> None:
        try:
            submodule = _import(f"{module.__name__}.{last}")
        except RecordingError as error:
            self._report(f"{name}.{last} is left out: {error}")
            return
        if getattr(module, last) is submodule:  # not an object in it with the same name
            self.add(f"{name}.{last}", submodule, is_root=False)

    def _add_name(self, name: str, value: Any) -> None:
        if isinstance(value, type):
            home = self._homes.setdefault(value, name)
            if home == name:
                self.classes[name] = Class(signature_of(value), dict(sorted(_members(value).items())), home)
            self.classes[name] = self.classes[home]
        elif callable(value):
            self.functions[name] = (
                _bound(signature_of(value)) if inspect.ismethod(value) else signature_of(value)
            )
        else:
            self.values.add(name)


class _Public:
    """The public names of a module: those in ``__all__``, or without it, those defined in the package.

    For the recorded module itself, both.
    """

    def __init__(self, module: ModuleType, is_root: bool) -> None:
        self._listed = getattr(module, "__all__", None)
        self._is_root = is_root
        self._package = module.__name__.partition(".")[0]
        self._defined = names_defined_in(getattr(module, "__file__", None) or "")

    def has(self, name: str, value: Any) -> bool:
        """Return whether a name is public, or a private one that programs use."""
        if name.startswith("_"):
            return name in PRIVATE
        if self._listed is not None and name in self._listed:
            return True
        takes_all = self._is_root or self._listed is None
        return takes_all and (name in self._defined or self._is_own(value))

    def _is_own(self, value: Any) -> bool:
        home = getattr(value, "__module__", None)
        return isinstance(home, str) and home.partition(".")[0] == self._package


def _bound(signature: str) -> str:
    """Return the signature of a bound method from its function's: torch.tpu's functions are classmethods."""
    return re.sub(r"^\(\w+(, )?", "(", signature)


def _names(module: ModuleType) -> dict[str, Any]:
    """Return the names that a module binds; flags that are properties of a module count as names."""
    wrapped = getattr(module, "m", None)  # torch.backends.cudnn is an object that wraps its module
    hidden = {name for name in PRIVATE if hasattr(module, name)}  # of a module's own __getattr__
    shown = {*dir(module), *dir(type(module)), *(dir(wrapped) if inspect.ismodule(wrapped) else ()), *hidden}
    values = {name: getattr(module, name, None) for name in shown - set(dir(ModuleType))}
    return {name: value for name, value in values.items() if not inspect.ismodule(value)}


def _submodules(module: ModuleType) -> list[str]:
    found = (each.name for each in pkgutil.iter_modules(getattr(module, "__path__", [])))
    return [name for name in found if not name.startswith("_")]


def _members(owner: type) -> dict[str, str]:
    members: dict[str, str] = {}
    for each in reversed(_bases(owner)):
        members |= _annotated(each) | {name: _member(value) for name, value in vars(each).items()}
        members |= stub(each) or {}
    return {name: text for name, text in members.items() if not name.startswith("_") or name in METHODS}


def _bases(owner: type) -> list[type]:
    """Return a class and its bases, without tensors, storages and builtins, which have too many members."""
    import torch

    ends = (torch.Tensor, torch.TypedStorage, torch.UntypedStorage)
    if type(owner).__name__ == "tensortype":  # torch's and each vendor's own
        return []
    bases = (each for each in owner.__mro__ if not any(issubclass(end, each) for end in ends))
    return [each for each in bases if each.__module__ not in ("builtins", "enum")]


def _annotated(owner: type) -> dict[str, str]:
    annotations = vars(owner).get("__annotations__")
    return dict.fromkeys(annotations, "attribute") if isinstance(annotations, dict) else {}


def _member(value: Any) -> str:
    kinds = {staticmethod: "staticmethod ", classmethod: "classmethod "}
    if isinstance(value, (staticmethod, classmethod)):
        return (kinds[type(value)] + signature_of(value.__func__)).strip()
    if callable(value):
        return signature_of(value) or "method"
    return "property" if hasattr(type(value), "__get__") else "attribute"
