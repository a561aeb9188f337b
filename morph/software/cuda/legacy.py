"""The older types of CUDA's tensors, ``torch.cuda.FloatTensor``, which torch has and refuses without CUDA."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import torch

from morph.base.journal import Journal

_set_default: Any = torch._C._set_default_tensor_type


def place(native: Any, journal: Journal) -> None:
    """Make the types able to create tensors and to be the default.

    Args:
        native: The software device.
        journal: Records it.
    """
    types = [type_ for home in (torch.cuda, torch.cuda.sparse) for type_ in _types(home).values()]

    def set_default(type_: Any) -> None:
        if type_ in types:
            native.set_default_tensor_type(type_)
        else:
            _set_default(type_)

    native.allow_tensor_types(True, types)
    journal.on_undo(lambda: native.allow_tensor_types(False, types))
    journal.set_attribute(torch._C, "_set_default_tensor_type", set_default)


def _types(module: ModuleType) -> dict[str, Any]:
    kind = type(torch.FloatTensor)
    return {name: value for name, value in vars(module).items() if type(value) is kind}
