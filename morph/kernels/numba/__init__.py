"""numba.cuda on the software device: its kernels are compiled for the host from numba's own LLVM IR."""

from __future__ import annotations

import importlib.metadata
import re
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from morph.finders.finder import finder, on_import
from morph.finders.packages.finder import packages

if TYPE_CHECKING:
    from morph.base.journal import Journal

OLDEST = (0, 30)  # releases of numba-cuda that are known
_DRIVER, _NVVM, _CODEGEN = "numba.cuda.cudadrv.driver", "numba.cuda.cudadrv.nvvm", "numba.cuda.codegen"


def is_served() -> bool:
    """Return whether a numba.cuda is installed whose kernels run."""
    try:
        release = importlib.metadata.version("numba-cuda")
    except importlib.metadata.PackageNotFoundError:
        return False
    return tuple(map(int, re.findall(r"\d+", release)[:2])) >= OLDEST


def install(journal: Journal) -> None:
    """Run the kernels of numba.cuda from now on.

    Args:
        journal: Records every change.
    """
    # its own parts in C need the real bindings, which find the served libraries by their names; numba's own
    # import needs them already
    if "numba" in sys.modules:
        packages.give_back("cuda")
    else:
        on_import("numba", _nothing, journal)
        finder.prepare("numba", lambda: packages.give_back("cuda"))
    on_import(_NVVM, lambda module: _compile(module, journal), journal)
    on_import(_DRIVER, _choose_linker, journal)
    on_import(_CODEGEN, lambda module: _leave_out(module, journal), journal)


def _nothing(module: ModuleType) -> None:
    """Watch a module for what is prepared before it."""


def _compile(module: ModuleType, journal: Journal) -> None:
    import ctypes

    for library in ("libcuda.so.1", "libnvrtc.so.13"):  # of which the bindings' loader asks by these names
        ctypes.CDLL(library)
    for name, served in (("NVVM", _Nvvm), ("is_available", lambda: True), ("compile_ir", _compiler(module))):
        journal.set_attribute(module, name, served)


def _compiler(module: Any) -> Any:
    """Return what takes the place of the function that has libNVVM compile."""
    from morph.kernels.extensions import toolkit_name
    from morph.software import settings

    def compile_ir(llvmir: str | list[str], **options: Any) -> bytes:
        from morph.kernels.numba import building
        from morph.kernels.numba.lowering import UnknownCodeError

        if "gen-lto" in options:
            raise module.NvvmSupportError("the software device makes no LTO IR; leave lto=True out")
        if settings.sanitizers():
            raise module.NvvmSupportError("MORPH_SANITIZE does not check numba's kernels; unset it")
        modules = [llvmir] if isinstance(llvmir, str) else llvmir
        try:
            image = building.build([module.llvm_replace(each) for each in modules])
        except UnknownCodeError as error:
            raise module.NvvmSupportError(str(error)) from None
        return image.text(toolkit_name()).encode()

    return compile_ir


class _Nvvm:
    """What numba asks of libNVVM besides compiling."""

    data_layout = (
        "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f32:32:32-f64:64:64-v16:16:16-"
        "v32:32:32-v64:64:64-v128:128:128-n16:32:64"
    )

    def get_ir_version(self) -> tuple[int, int, int, int]:
        return 2, 0, 3, 2


def _choose_linker(module: Any) -> None:
    """Have cuda.core choose the driver's linker now, without its advice to install another one."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module.LinkerOptions(arch="sm_80")


def _leave_out(module: Any, journal: Journal) -> None:
    """Leave out what has no effect here: the library of grids' barriers, and code for a debugger."""
    library = module.CUDACodeLibrary
    real = library.get_asm_strs

    def get_asm_strs(self: Any, cc: Any = None) -> Any:
        self._nvvm_options = {name: value for name, value in self._nvvm_options.items() if name != "g"}
        return real(self, cc)

    journal.set_attribute(library, "get_asm_strs", get_asm_strs)
    unneeded = property(lambda self: False, lambda self, value: None)
    journal.set_attribute(library, "needs_cudadevrt", unneeded)
