"""The tools that ``torch.utils.cpp_extension`` builds CUDA extensions with."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from morph.base import native, variables
from morph.kernels.extensions import failures, musa, toolkit, vendors
from morph.kernels.extensions.toolkit import Toolkit
from morph.software import settings

if TYPE_CHECKING:
    from morph.backends.tables.table import Facts
    from morph.base.journal import Journal


def place(module: Any, facts: Facts, journal: Journal) -> None:
    """Make torch's builder build for a backend.

    Args:
        module: ``torch.utils.cpp_extension``.
        facts: What is known of the backend.
        journal: Records every change.
    """
    if facts.software:
        _use(toolkit.assemble(), module, journal)
    elif not facts.native_cuda:  # on ROCm torch itself translates the sources
        vendors.refuse(module, facts, journal)
        if facts.name == "musa" and musa.is_available():
            musa.place(module, journal)


def _use(tools: Toolkit, module: Any, journal: Journal) -> None:
    journal.set_attribute(module, "CUDA_HOME", str(tools.home))
    if {*settings.sanitizers()} - {settings.LEAK}:  # another command: ninja builds anew
        flags = [*module.COMMON_NVCC_FLAGS, f"-D{variables.SANITIZE}"]
        journal.set_attribute(module, "COMMON_NVCC_FLAGS", flags)
    for name in ("load", "load_inline"):
        journal.set_attribute(module, name, failures.remembering(getattr(module, name), tools))
    journal.set_attribute(module, "include_paths", _own_first(module.include_paths, tools))
    journal.set_attribute(module, "library_paths", _with_libraries(module.library_paths, tools))
    journal.set_attribute(module, "_prepare_ldflags", _with_ready_libraries(module._prepare_ldflags, tools))


def _own_first(torchs: Callable[..., list[str]], tools: Toolkit) -> Callable[..., list[str]]:
    """Put the toolkit's headers before torch's: a few of torch's for CUDA are replaced."""

    def include_paths(device_type: str = "cpu", *args: Any, **kwargs: Any) -> list[str]:
        paths = torchs(device_type, *args, **kwargs)
        return [str(tools.include), *paths] if device_type == "cuda" else paths

    return include_paths


def _with_libraries(torchs: Callable[..., list[str]], tools: Toolkit) -> Callable[..., list[str]]:
    """Put the toolkit's libraries before torch's: one that is built for CUDA has some of the same names."""

    def library_paths(device_type: str = "cpu", *args: Any, **kwargs: Any) -> list[str]:
        if device_type == "cuda":
            native.provide(tools.library())
        paths = torchs(device_type, *args, **kwargs)
        return [str(tools.libraries), *paths] if device_type == "cuda" else paths

    return library_paths


def _with_ready_libraries(torchs: Callable[..., Any], tools: Toolkit) -> Callable[..., Any]:
    def _prepare_ldflags(extra_ldflags: list[str], with_cuda: bool, *args: Any, **kwargs: Any) -> Any:
        if with_cuda:
            native.provide(tools.library())
            extra_ldflags = [f"-L{tools.libraries}", *extra_ldflags]
        return torchs(extra_ldflags, with_cuda, *args, **kwargs)

    return _prepare_ldflags
