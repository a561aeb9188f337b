"""Operations that the program must wait for; a capture cannot hold them, and CUDA refuses them too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from morph.software.machine import started

_THAT_COPY_SIZES = ("aten::bincount", "aten::repeat_interleave")
_TAGS = (torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape)
# The host reads whether a factorization has succeeded
_THAT_CHECK = (
    *(f"aten::_linalg_{name}" for name in ("check_errors", "eigh", "eigvals", "svd")),
    *(f"aten::linalg_{name}" for name in ("eig", "eigvals", "lstsq")),
    *("aten::cholesky", "aten::cholesky_inverse"),
)
_THAT_MAY_CHECK = tuple(
    f"aten::{name}_ex"
    for name in ("_linalg_solve", "linalg_cholesky", "linalg_inv", "linalg_ldl_factor", "linalg_lu_factor")
)


def refused(operation: Any, arguments: dict[str, Any]) -> bool:
    """Return whether a result depends on values of the device, or a copy to or from the host blocks.

    Args:
        operation: The operator.
        arguments: Its arguments by name.
    """
    judge = _JUDGES.get(operation.overloadpacket._qualified_op_name)
    if judge is not None:
        return judge(arguments)
    return any(tag in operation.tags for tag in _TAGS)


def copies_pageable_memory(operation: Any, arguments: dict[str, Any]) -> bool:
    """Return whether an operation copies between the device and memory of the host that is not pinned.

    Since torch 2.11 (seen there) a capture refuses it before it asks the device, and goes on.

    Args:
        operation: The operator.
        arguments: Its arguments by name.
    """
    name = operation.overloadpacket._qualified_op_name
    if name in _THAT_COPY_SIZES:
        return name != "aten::repeat_interleave" or _is_unsized(arguments)
    source: torch.Tensor = arguments.get("src", arguments.get("source", arguments.get("self")))  # type: ignore[assignment]
    if name == "aten::copy_":
        target = arguments["self"]
        return _crosses(source.device, target.device) and not (source.is_pinned() or target.is_pinned())
    if name != "aten::_to_copy" or arguments.get("device") is None:
        return False
    is_pinned = source.is_pinned() if source.is_cpu else arguments.get("non_blocking")
    return _crosses(source.device, arguments["device"]) and not is_pinned


def _puts_by_mask(arguments: dict[str, Any]) -> bool:
    """Return as ``_masks``, but not for one mask and a number, which torch fills without counting."""
    indices, values = arguments["indices"], arguments["values"]
    is_number = values.is_cpu and values.numel() == 1 and not arguments.get("accumulate")
    is_mask = len(indices) == 1 and indices[0] is not None and not indices[0].is_cpu
    return _masks(arguments) and not (is_number and is_mask and indices[0].dtype is torch.bool)


def _masks(arguments: dict[str, Any]) -> bool:
    """Return whether an index is a mask, whose true values are counted, or must come from the host first."""
    indices: Sequence[torch.Tensor | None] = arguments["indices"]
    return any(
        index is not None and (index.dtype in (torch.bool, torch.uint8) or index.is_cpu) for index in indices
    )


def _is_unsized(arguments: dict[str, Any]) -> bool:
    return arguments.get("output_size") is None


def _moves(arguments: dict[str, Any]) -> bool:
    device = arguments.get("device")
    return device is not None and _blocks(arguments["self"].device, device, arguments)


def _copies(arguments: dict[str, Any]) -> bool:
    source = arguments.get("src", arguments.get("source"))
    return source is not None and _blocks(source.device, arguments["self"].device, arguments)


def _blocks(source: torch.device, target: torch.device, arguments: dict[str, Any]) -> bool:
    return _crosses(source, target) and not arguments.get("non_blocking")


def _crosses(source: torch.device, target: torch.device) -> bool:
    ours = started().device_type
    return (source.type == ours) != (target.type == ours)


def _is_waited_for(arguments: dict[str, Any]) -> bool:
    return not arguments.get("async_op")


def _is_checked(arguments: dict[str, Any]) -> bool:
    return bool(arguments.get("check_errors"))


def _always(arguments: dict[str, Any]) -> bool:
    return True


_JUDGES: dict[str, Callable[[dict[str, Any]], bool]] = {
    "aten::index": _masks,
    "aten::_unsafe_index": _masks,
    "aten::index_put": _puts_by_mask,
    "aten::index_put_": _puts_by_mask,
    "aten::_index_put_impl_": _puts_by_mask,
    "aten::_unsafe_index_put": _masks,
    "aten::repeat_interleave": _is_unsized,
    "aten::_to_copy": _moves,
    "aten::copy_": _copies,
    "c10d::barrier": _is_waited_for,
    **dict.fromkeys(_THAT_CHECK, _always),
    **dict.fromkeys(_THAT_MAY_CHECK, _is_checked),
}
