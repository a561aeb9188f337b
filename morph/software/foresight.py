"""The results of an operation, without computing it: new memory of the right shapes, and its targets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils._pytree import tree_iter, tree_map

KERNEL = "is_kernel"  # set on an operator whose Python function stands for one kernel
_OF_TORCH = ("aten", "prim", "prims", "c10d", "_c10d_functional")
# The kernels have other workspaces than torch foresees; for the third, torch 2.13's lacks an argument.
# For the products it refuses batches and the metadata that CUDA's kernel makes for training, and takes the
# length of cuSPARSELt's compressed tensor for the rows of its matrix
_UNTOLD = (
    "aten::mkldnn_rnn_layer",
    "aten::log_sigmoid_forward",
    "aten::_efficient_attention_backward",
    "aten::_sparse_semi_structured_mm",
    "aten::_sparse_semi_structured_addmm",
    "aten::_sparse_semi_structured_linear",
    "aten::_cslt_sparse_mm",
)
_COPIES = ("aten::copy_", "aten::_to_copy", "aten::_foreach_copy_")
_EMPTY = tuple(
    f"aten::{name}"
    for name in ("empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided")
)
_META = torch.device("meta")

Arguments = dict[str, Any]


class UnforeseeableError(Exception):
    """An operator says nothing of the shapes of its results."""


def is_composite(operation: Any) -> bool:
    """Return whether an operator is made of others; in inference mode torch does not take it apart first."""
    return torch._C._dispatch_has_kernel_for_dispatch_key(operation.name(), "CompositeImplicitAutograd")


def is_in_python(operation: Any, device_type: str) -> bool:
    """Return whether an operator of a library is a Python function over others, and no kernel by itself."""
    if operation.namespace in _OF_TORCH or getattr(operation, KERNEL, False):
        return False
    name = operation.name().replace("::", "/")
    keys = torch._C._dispatch_key_for_device(device_type), "CompositeExplicitAutograd"
    return any(f"{name}/{key}" in torch.library._impls for key in keys)


def function_in_python(operation: Any, device_type: str) -> Callable[..., Any]:
    """Return that function, which the dispatcher finds below autograd and modes."""
    key = getattr(torch._C.DispatchKey, torch._C._dispatch_key_for_device(device_type))

    def call(*args: Any, **kwargs: Any) -> Any:
        return operation.redispatch(torch._C.DispatchKeySet(key), *args, **kwargs)

    return call


def is_collective(operation: Any) -> bool:
    """Return whether an operator is a collective, for which the program gets a handle to wait by."""
    return operation.namespace == "c10d" and any("Work" in str(e.type) for e in operation._schema.returns)


def computes_nothing(operation: Any) -> bool:
    """Return whether an operator only makes views, changes what a tensor says of its memory, or asks it."""
    if torch.Tag.inplace_view in operation.tags:
        return True
    returns = operation._schema.returns
    of_tensors = [each for each in returns if "Tensor" in str(each.type)]
    if not of_tensors:
        return bool(returns) and not operation._schema.is_mutable
    return all(each.alias_info is not None and not each.alias_info.is_write for each in of_tensors)


def is_copy(operation: Any) -> bool:
    """Return whether an operator copies memory, between the host and the device too."""
    return operation.overloadpacket._qualified_op_name in _COPIES


def only_allocates(operation: Any) -> bool:
    """Return whether an operator makes memory and writes nothing to it."""
    return operation.overloadpacket._qualified_op_name in _EMPTY


def arguments(operation: Any, args: tuple[Any, ...], kwargs: Arguments) -> Arguments:
    """Return the arguments of a call by the names of the schema."""
    names = (each.name for each in operation._schema.arguments)
    return {**dict(zip(names, args, strict=False)), **kwargs}


def written(operation: Any, given: Arguments) -> Iterator[torch.Tensor]:
    """Return the tensors that an operation writes to, of its arguments by name."""
    for argument in operation._schema.arguments:
        if argument.alias_info is not None and argument.alias_info.is_write:
            yield from _tensors(given.get(argument.name))


def results(operation: Any, args: tuple[Any, ...], kwargs: Arguments) -> Any:
    """Return what an operation will return, in memory of its own that nothing was written to.

    Args:
        operation: The operator, which is not composite and computes something.
        args: Its arguments.
        kwargs: The others.

    Raises:
        RuntimeError: If the arguments do not fit each other.
        UnforeseeableError: If torch has no way to know.
    """
    given, returns = arguments(operation, args, kwargs), operation._schema.returns
    _require_one_device(operation, given)
    metas = tree_map(_meta, (args, kwargs))
    try:
        foreseen = _foreseen(operation, given, *metas)
    except NotImplementedError as error:
        if any(each.alias_info is None for each in returns):
            raise UnforeseeableError(str(operation)) from error
        foreseen = (None,) * len(returns)
    else:
        _resize(operation, given, arguments(operation, *metas))
    device = _device(given)
    values = zip(returns, foreseen, strict=True)
    made = tuple(_result(operation, each, value, given, device) for each, value in values)
    return made[0] if len(made) == 1 else made or None


def _foreseen(operation: Any, given: Arguments, args: tuple[Any, ...], kwargs: Arguments) -> tuple[Any, ...]:
    name = operation.overloadpacket._qualified_op_name
    if name in _UNTOLD:
        raise NotImplementedError(name)
    foreseen, count = operation(*args, **kwargs), len(operation._schema.returns)
    if name == "aten::_scaled_dot_product_flash_attention" and given.get("return_debug_mask"):
        foreseen = (*foreseen[:-1], _mask_of_flash(arguments(operation, args, kwargs)))
    return (foreseen,) if count == 1 else tuple(foreseen or ())


def _mask_of_flash(given: Arguments) -> torch.Tensor:
    """Return flash attention's mask of what it drops, in whole tiles; torch 2.13 foresees a column each."""
    query = given["query"]
    if not given.get("dropout_p"):
        return torch.empty(0, dtype=query.dtype, device=_META)
    tiled = (-(-given[name].size(2) // 128) * 128 for name in ("query", "key"))
    return torch.empty(*query.shape[:2], *tiled, dtype=query.dtype, device=_META)


def _result(operation: Any, returned: Any, foreseen: Any, given: Arguments, device: torch.device) -> Any:
    if returned.alias_info is None:
        return tree_map(lambda value: _made(value, device), foreseen)
    names, arguments = returned.alias_info.before_set, operation._schema.arguments
    own = (each.name for each in arguments if each.alias_info and each.alias_info.before_set == names)
    return given[next(own)]


def _resize(operation: Any, given: Arguments, metas: Arguments) -> None:
    """Give the targets of an out= variant the size of the result."""
    for target, meta in zip(written(operation, given), written(operation, metas), strict=True):
        if target.shape != meta.shape:
            target.resize_(meta.shape)


def _made(value: Any, device: torch.device) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    # A copy to the host does not block, as a capture refuses others: its result is in pinned memory
    options: Arguments = {"dtype": value.dtype, "device": device, "pin_memory": device.type == "cpu"}
    size, stride = value.size(), value.stride()
    shares = any(step == 0 and length > 1 for step, length in zip(stride, size, strict=True))
    made = torch.empty(size, **options) if shares else torch.empty_strided(size, stride, **options)
    # What cannot be foreseen runs in the capture, and an index of arbitrary bits would end the process
    return made if value.is_floating_point() or value.is_complex() else made.zero_()


def _meta(value: Any) -> Any:
    if isinstance(value, torch.device):
        return _META
    if not isinstance(value, torch.Tensor):
        return None if isinstance(value, torch.Generator) else value
    if value.layout != torch.strided or value.is_quantized:
        raise UnforeseeableError(str(value.layout))
    meta = torch.empty_strided(value.size(), value.stride(), dtype=value.dtype, device=_META)
    return meta.requires_grad_() if value.requires_grad else meta


def _device(given: Arguments) -> torch.device:
    """Return where the results are: where it is said, or where the other tensors are."""
    if given.get("device") is not None:
        return torch.device(given["device"])
    devices = [tensor.device for tensor in _tensors(tuple(given.values()))]
    return next((device for device in devices if device.type != "cpu"), torch.device("cpu"))


def _require_one_device(operation: Any, given: Arguments) -> None:
    if torch.Tag.pointwise in operation.tags:
        devices = {tensor.device for tensor in _tensors(tuple(given.values())) if tensor.dim()}
        if len(devices) > 1:
            names = " and ".join(sorted(map(str, devices), reverse=True))
            raise RuntimeError(
                f"Expected all tensors to be on the same device, but found at least two devices, {names}!"
            )


def _tensors(values: Any) -> Iterator[torch.Tensor]:
    return (value for value in tree_iter(values) if isinstance(value, torch.Tensor))
