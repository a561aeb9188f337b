"""``torch.cuda`` in TorchScript, whose compiler knows its functions as operators of torch's CUDA builds."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import torch
import wrapt

from morph.base.journal import Journal
from morph.software.machine import library

_OPERATOR = "cuda::current_stream"
_LOADERS = ("import_ir_module", "import_ir_module_from_buffer")
# what a script may call by these names (torch/csrc/jit/python/python_sugared_value.cpp); few scripts do, and
# their part of the device takes seconds to compile
_NAMES = re.compile(
    r"\bcuda\.(Stream|Event|stream|(current|default|set)_stream|device|(current|set|\w*exchange)_device"
    r"|device_(count|index)|synchronize)\b"
)


def place(journal: Journal) -> None:
    """Register the operators as soon as a function or an archive that is compiled names them.

    They stay registered in the process, since what was compiled with them does.

    Args:
        journal: Records every rebinding.
    """
    build = wrapt.FunctionWrapper(torch.jit.frontend.build_def, _building)
    journal.set_attribute(torch.jit.frontend, "build_def", build)
    for name in _LOADERS:
        load = wrapt.FunctionWrapper(getattr(torch._C, name), _loading)
        journal.set_attribute(torch._C, name, load)


def _building(
    build: Callable[..., Any], instance: object, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Any:
    if _NAMES.search(args[0].source):  # of the function
        _register()
    return build(*args, **kwargs)


def _loading(
    load: Callable[..., Any], instance: object, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Any:
    try:
        return load(*args, **kwargs)
    except RuntimeError as error:
        if "cuda" not in str(error) or not _register():
            raise
    return load(torch._C.CompilationUnit(), *args[1:], **kwargs)  # the first one holds what it had read


def _register() -> bool:
    """Register the operators unless they are, and return whether this did."""
    if torch._C._jit_get_schemas_for_operator(_OPERATOR):  # as in a build of torch for CUDA or ROCm
        return False
    library("torchscript")
    return True
