"""bitsandbytes on the software device: its own operators and library for the CPU.

Its CUDA kernels are in a library that was compiled for NVIDIA's GPUs. In place of the module that registers
them, its kernels for the CPU are registered for CUDA, whose tensors are in the host's memory there. Where the
library was built from its sources under morph, bitsandbytes is left as it is.
"""

from __future__ import annotations

import dataclasses
import importlib
import pathlib
import re
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from morph.backends import Backend
from morph.base.importing import put_first, take_away
from morph.base.journal import Journal
from morph.finders.finder import on_import

_KERNELS = "bitsandbytes.backends.cuda.ops"
_NAMESPACE = "bitsandbytes"
_TOOLKIT = re.compile(rb"/cuda-[0-9a-f]{20}/lib64/libcudart\.so")
_BEGIN = 1 << 20  # bytes of a library, in which the names lie that it is linked to


def install(backend: Backend, journal: Journal) -> None:
    """Let bitsandbytes compute without CUDA's kernels, where there are none.

    Args:
        backend: The backend that serves CUDA's names.
        journal: Records every change.
    """
    if not backend.table.facts.software or backend.simulated:
        return

    def choose_the_cpus(module: ModuleType) -> None:
        if not _has_built_library(pathlib.Path(str(module.__file__)).parent):
            journal.set_attribute(module, "get_cuda_specs", lambda: None)

    finder = WithoutKernels(journal)
    journal.on_undo(lambda: take_away(finder))
    put_first(finder)
    on_import("bitsandbytes.cuda_specs", choose_the_cpus, journal, "bitsandbytes: its library for the CPU")


@dataclasses.dataclass(frozen=True)
class WithoutKernels:
    """Finds the module that would register CUDA's kernels, and registers those of the CPU.

    Args:
        journal: Records every change.
    """

    journal: Journal = dataclasses.field(compare=False)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return a spec of an empty module, or None for any other."""
        if fullname != _KERNELS or (path and _has_built_library(pathlib.Path(path[0]).parents[1])):
            return None
        return ModuleSpec(fullname, self)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave it to the import system."""

    def exec_module(self, module: ModuleType) -> None:
        """Register the CPU's kernels; operators without one have PyTorch's for any device."""
        import torch

        importlib.import_module("bitsandbytes.backends.cpu.ops")
        make: Any = torch.library.Library
        library = make(_NAMESPACE, "IMPL", "CUDA")
        self.journal.on_undo(library._destroy)
        for name in torch._C._dispatch_get_all_op_names():
            if name.startswith(f"{_NAMESPACE}::") and torch._C._dispatch_has_kernel_for_dispatch_key(
                name, "CPU"
            ):
                library.impl(name.partition("::")[2], _on_the_host(name))


def _has_built_library(package: pathlib.Path) -> bool:
    """Return whether the package has a library that is linked to the software device's toolkit."""
    return any(_is_built(each) for each in package.glob("libbitsandbytes_cuda*.so"))


def _is_built(library: pathlib.Path) -> bool:
    with library.open("rb") as file:
        return _TOOLKIT.search(file.read(_BEGIN)) is not None


def _on_the_host(name: str) -> Callable[..., Any]:
    """Return a function that computes the operator ``name`` with the CPU's kernel."""
    import torch

    from morph.software.sanitizing import device_access

    operator, _, overload = name.partition("::")[2].partition(".")
    found = getattr(getattr(torch.ops.bitsandbytes, operator), overload or "default")
    cpu = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)

    def compute(*arguments: Any, **options: Any) -> Any:
        with device_access():
            return found.redispatch(cpu, *arguments, **options)

    return compute
