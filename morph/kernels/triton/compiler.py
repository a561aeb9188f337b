"""The compiler that triton calls for the device type cuda: its front end's IR becomes C++ and a library."""

from __future__ import annotations

import dataclasses
import hashlib
import sys
from collections.abc import Callable
from typing import Any

from triton._C.libtriton import ir, passes
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia.compiler import CUDABackend, CUDAOptions

from morph.kernels.triton import building
from morph.kernels.triton.errors import UnsupportedOperationError
from morph.kernels.triton.lowering.module import lower_module
from morph.software import settings

FLOAT8 = ("fp8e4nv", "fp8e5")
# a kernel has no shared memory here, but programs divide by how much it has
SHARED = 1

Metadata = dict[str, Any]


class HostBackend(CUDABackend):  # type: ignore[misc]
    """Compiles kernels for the host's processor, where CUDA's target is asked for.

    The front end's decisions are those of CUDA, such as the smallest matrices of ``tl.dot``.
    """

    def __init__(self, target: GPUTarget) -> None:
        super().__init__(target)
        self.binary_ext = "so"

    def hash(self) -> str:
        """Return the name of this way of compiling, for triton's cache."""
        checks = "-memory" if _is_checked() else ""
        return f"morph-{building.version()}{checks}"

    def parse_options(self, options: dict[str, Any]) -> CUDAOptions:
        """Return the options of a kernel, which are CUDA's."""
        chosen = super().parse_options(options)
        own = {"supported_fp8_dtypes": FLOAT8, "max_num_imprecise_acc_default": 0}
        return dataclasses.replace(chosen, **{name: own[name] for name in own if name not in options})

    def add_stages(self, stages: dict[str, Any], options: CUDAOptions, language: Any = None) -> None:
        """Enter the steps from the front end's IR to a shared library."""
        _refuse_ahead_of_time()
        if getattr(language, "name", "TRITON") != "TRITON":
            raise UnsupportedOperationError("gluon", "it is written for the layouts of a GPU")
        stages["ttir"] = _simplified
        stages["cpp"] = _lowered
        stages["so"] = _built(options)


def _is_checked() -> bool:
    return not settings.IN_TRITON.isdisjoint(settings.sanitizers())


def _refuse_ahead_of_time() -> None:
    """Refuse what ``python -m triton.tools.compile`` does: its C code loads a GPU's binary."""
    program = sys.modules["__main__"].__spec__
    if program is not None and program.name == "triton.tools.compile":
        raise UnsupportedOperationError(
            "triton.tools.compile", "its output is for a GPU; launch the kernel from Python"
        )


def _simplified(module: Any, metadata: Metadata) -> Any:
    manager = ir.pass_manager(module.context)
    manager.enable_debug()
    passes.common.add_inliner(manager)
    for name in ("add_rewrite_tensor_descriptor_to_pointer", "add_rewrite_tensor_pointer"):
        if hasattr(passes.ttir, name):  # since triton 3.4, and until 3.5
            getattr(passes.ttir, name)(manager)
    steps: list[Callable[[Any], None]] = [
        passes.common.add_canonicalizer,
        passes.ttir.add_combine,
        passes.ttir.add_reorder_broadcast,
        passes.common.add_cse,
        passes.common.add_symbol_dce,
        passes.ttir.add_loop_unroll,
        passes.common.add_canonicalizer,
        passes.common.add_cse,
    ]
    for step in steps:
        step(manager)
    _run(manager, module)
    metadata["name"] = module.get_entry_func_name()
    metadata["shared"] = SHARED
    return module


def _run(manager: Any, module: Any) -> None:
    try:
        manager.run(module, "make_ttir")
    except TypeError:  # until triton 3.5 it has no name
        manager.run(module)


def _lowered(module: Any, metadata: Metadata) -> str:
    """Return a kernel's C++; one that is not lowered is interpreted, or refused, when it is launched."""
    metadata["frame"], metadata["unsupported"], metadata["written"] = 0, None, []
    try:
        text = module.str_nodebug() if hasattr(module, "str_nodebug") else str(module)
        source = lower_module(text, _is_checked())
    except UnsupportedOperationError as error:
        metadata["unsupported"] = [error.operation, error.reason]
        return f"// {error}\n"
    metadata["frame"], metadata["written"] = source.frame, source.written
    return source.text


def _built(options: CUDAOptions) -> Callable[[str, Metadata], bytes]:
    def build(source: str, metadata: Metadata) -> bytes:
        if metadata["unsupported"]:
            return hashlib.sha256(source.encode()).digest()
        return building.build(source, bool(options.enable_fp_fusion))

    return build
