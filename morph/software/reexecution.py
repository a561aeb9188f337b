"""A module of torch's own for a device, executed once more over a software runtime.

Such a module is Python over what a torch built for the device has in ``torch._C``. With that in its place,
the module's names, signatures and behaviour are torch's own. It is executed in the module that is there
already, so that code which holds the module, or a function of it, sees the device.
"""

from __future__ import annotations

import importlib
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import FrameType, ModuleType
from typing import Any

from morph.base.importing import put_first, take_away
from morph.base.journal import Journal

Contents = dict[str, dict[str, Any]]
_OF_THE_IMPORT = ("__spec__", "__loader__")
# Registries that `import torch` may have filled already: TORCH_CUDA_SANITIZER=1 does.
_KEPT = ("_gpu_trace", "_sanitizer")


class Reexecuted:
    """The second execution of a module with its submodules.

    Args:
        name: The module's dotted name, ``"torch.xpu"``.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._contents: Contents = {}

    def place(self, journal: Journal, complete: Callable[[ModuleType], None]) -> None:
        """Give the modules the contents of their second execution; they are executed the first time only.

        Args:
            journal: Puts torch's own contents back.
            complete: Called after the execution with the module.
        """
        own = _contents(self._loaded())
        journal.on_undo(lambda: self._put_back(own))
        if self._contents:
            _fill(self._contents)
        else:
            _execute(self._loaded())
            complete(sys.modules[self._name])

    def between_calls(self, work: Callable[[], object], patience: float = 2.0) -> None:
        """Call a function while no other thread is inside the modules' functions.

        Args:
            work: The function; it must not wait for another thread.
            patience: Seconds after which it is called in any case.
        """
        interval, until = sys.getswitchinterval(), time.monotonic() + patience
        sys.setswitchinterval(2 * interval)  # so that no thread goes on between the last look and the work
        try:
            time.sleep(interval)  # from here on the threads wait for so long
            while self._other_threads_inside() and time.monotonic() < until:
                time.sleep(interval)
            work()
        finally:
            sys.setswitchinterval(interval)

    def _other_threads_inside(self) -> bool:
        threads = sys._current_frames()
        del threads[threading.get_ident()]
        stacks = map(traceback.walk_stack, threads.values())
        return any(self._is_inside(frame) for stack in stacks for frame, _ in stack)

    def _is_inside(self, frame: FrameType) -> bool:
        return f"{frame.f_globals.get('__name__')}.".startswith(f"{self._name}.")

    def _put_back(self, own: Contents) -> None:
        self._contents = _contents({name: sys.modules[name] for name in own})
        _fill(own)

    def _loaded(self) -> dict[str, ModuleType]:
        inside = f"{self._name}."
        return {
            name: module
            for name, module in tuple(sys.modules.items())  # other threads import
            if f"{name}.".startswith(inside) and name.rpartition(".")[2] not in _KEPT
        }


def _contents(modules: Mapping[str, ModuleType]) -> Contents:
    return {name: dict(vars(module)) for name, module in modules.items()}


def _fill(contents: Contents) -> None:
    for name, values in contents.items():
        namespace = vars(sys.modules[name])
        namespace.update(values)
        for other in namespace.keys() - values.keys():
            if f"{name}.{other}" not in sys.modules:  # a submodule that was imported meanwhile stays
                del namespace[other]


def _execute(modules: Mapping[str, ModuleType]) -> None:
    """Import the modules once more, in the order in which they import each other."""
    finder = _InPlaceFinder(modules)
    put_first(finder)
    try:
        for name in modules:
            del sys.modules[name]
        for name in modules:
            importlib.import_module(name)
    finally:
        take_away(finder)
        sys.modules.update(modules)


class _InPlaceFinder:
    """Finds modules whose execution is to fill the module that was there before."""

    def __init__(self, modules: Mapping[str, ModuleType]) -> None:
        self._modules = modules

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path) if fullname in self._modules else None
        if spec is not None:
            spec.loader = _InPlaceLoader(spec.loader, self._modules[fullname])  # type: ignore[assignment]
        return spec


class _InPlaceLoader:
    """Executes a module in the module that was there before, which keeps its spec and loader."""

    def __init__(self, loader: Any, module: ModuleType) -> None:
        self._loader = loader
        self._module = module
        self._kept = {name: vars(module)[name] for name in _OF_THE_IMPORT}

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        vars(module).update(self._kept, __annotations__={})  # torch's own annotations are put back
        self._loader.exec_module(module)
