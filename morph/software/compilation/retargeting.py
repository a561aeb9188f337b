"""Turns a graph for the software device into one for the CPU, of which some operators stay on the device."""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import torch
from torch import fx
from torch._inductor.codegen.cpp_utils import DTYPE_TO_CPP
from torch._inductor.freezing_utils import (
    has_frozen_params,
    is_frozen_param,
    record_has_frozen_params,
)
from torch._ops import HigherOrderOperator, OpOverload
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils import _pytree as pytree

from morph.software.compilation import excursions
from morph.software.compilation.excursions import Excursion
from morph.software.compilation.fakes import HOST, is_on_device, twin
from morph.software.machine import started

META = {"val", "example_value", "eager_input_vals"}
aten, prims = torch.ops.aten, torch.ops.prims
# Inductor makes these of their parts, which are in subgraphs.
OF_PARTS = {
    "associative_scan",
    "auto_functionalized",
    "auto_functionalized_v2",
    "cond",
    "invoke_subgraph",
    "map_impl",
    "scan",
    "while_loop",
    "with_effects",
}
ON_STORAGES = {
    aten.set_.source_Storage,
    aten.set_.source_Storage_storage_offset,
    aten.set_.source_Tensor,
    torch.ops.inductor.resize_storage_bytes_.default,
}


@dataclass(frozen=True)
class Plan:
    """The mapping of a compiled graph's inputs and outputs.

    Attributes:
        index: The device whose memory the code allocates.
        devices: Of each output, the index of its device; -1 is the host.
        returned: Of each output, which input it is; -1 is none.
        excursions: The operators that the code runs on the device.
    """

    index: int
    devices: tuple[int, ...]
    returned: tuple[int, ...]
    excursions: tuple[Excursion, ...]


def concerns_device(module: fx.GraphModule, inputs: Iterable[object]) -> bool:
    """Return whether a graph works on the software device at all."""
    return any(map(is_on_device, inputs)) or any(map(is_on_device, _things(module)))


def obstacle(module: fx.GraphModule) -> str | None:
    """Return what keeps a graph from being compiled for the CPU, or None."""
    for node in _nodes(module):
        if isinstance(node.target, HigherOrderOperator) and str(node.target) not in OF_PARTS:
            return str(node.target)
        if node.target in ON_STORAGES:
            return str(node.target)
        if _needs_excursion(node.target) and len(_indices(node)) > 1:
            return f"{node.target} on several devices"
    tensors = [thing for thing in _things(module) if isinstance(thing, torch.Tensor)]
    # such as float8_e8m0fnu, which inductor compiles for GPUs only (as of torch 2.15)
    odd = (each.dtype for each in tensors if each.dtype not in DTYPE_TO_CPP)
    layouts = (each.layout for each in tensors if each.layout is not torch.strided)
    return next((str(each) for each in chain(odd, layouts)), None)


def _nodes(module: fx.GraphModule) -> Iterator[fx.Node]:
    for part in module.modules():
        if isinstance(part, fx.GraphModule):
            yield from part.graph.nodes


def _things(module: fx.GraphModule) -> Iterator[object]:
    """Return the tensors and devices that a graph's nodes take and return."""
    for node in _nodes(module):
        yield from pytree.tree_leaves(node.meta.get("val"))
        yield from pytree.tree_leaves((node.args, dict(node.kwargs)))


def retarget(module: fx.GraphModule, inputs: Sequence[Any]) -> tuple[fx.GraphModule, list[Any], Plan]:
    """Turn a graph for the device into one for the CPU.

    Args:
        module: A graph without obstacles, which stays as it is.
        inputs: Its example inputs.

    Returns:
        The graph for the CPU, its example inputs, and how it serves the device.
    """
    retargeting = _Retargeting()
    host = retargeting.module(module)
    index = min(_index(thing) for thing in [*inputs, *_things(module)] if is_on_device(thing))
    plan = Plan(index, *_results(module), tuple(retargeting.excursions))
    return host, [retargeting.value(each) for each in inputs], plan


def _index(thing: Any) -> int:
    device = thing.device if isinstance(thing, torch.Tensor) else thing
    return int(started().native.current_device() if device.index is None else device.index)


def _results(module: fx.GraphModule) -> tuple[tuple[int, ...], tuple[int, ...]]:
    places = {node: place for place, node in enumerate(module.graph.find_nodes(op="placeholder"))}
    outputs: Any = module.graph.output_node().args[0]
    values = [node.meta.get("val") if isinstance(node, fx.Node) else None for node in outputs]
    devices = [_index(value) if is_on_device(value) else -1 for value in values]
    return tuple(devices), tuple(places.get(node, -1) for node in outputs)


class _Retargeting:
    """One graph's way to the CPU; what is seen twice becomes one thing."""

    def __init__(self) -> None:
        self.excursions: dict[Excursion, None] = {}
        self._known: dict[int, tuple[Any, Any]] = {}  # with what it was made of, to keep its id

    def value(self, value: Any) -> Any:
        """Return the CPU's counterpart of a tensor or a device, and anything else as it is."""
        if not is_on_device(value):
            return value
        if id(value) not in self._known:
            self._known[id(value)] = value, _counterpart(value)
        return self._known[id(value)][1]

    def module(self, module: fx.GraphModule) -> fx.GraphModule:
        """Return the CPU's counterpart of a graph and of those in it."""
        if id(module) not in self._known:
            self._known[id(module)] = module, self._copied(module)
        copied: fx.GraphModule = self._known[id(module)][1]
        return copied

    def _copied(self, module: fx.GraphModule) -> fx.GraphModule:
        copied = fx.GraphModule(module, copy.deepcopy(module.graph))
        copied.meta = dict(module.meta)
        if has_frozen_params(module):
            record_has_frozen_params(copied)
        for node in copied.graph.find_nodes(op="get_attr"):
            self._retarget_attribute(node, copied)
        for node in copied.graph.nodes:
            if node.op == "call_function":
                self._retarget_call(node)
        for node in copied.graph.nodes:  # last, since the calls ask where their arguments are
            for key in META & node.meta.keys():
                node.meta[key] = pytree.tree_map(self.value, node.meta[key])
        copied.recompile()
        return copied

    def _retarget_attribute(self, node: fx.Node, module: fx.GraphModule) -> None:
        owner, _, name = str(node.target).rpartition(".")
        holder = module.get_submodule(owner)
        held = getattr(holder, name)
        if isinstance(held, fx.GraphModule):
            setattr(holder, name, self.module(held))
        elif is_on_device(held):
            delattr(holder, name)
            setattr(holder, name, self.value(held))

    def _retarget_call(self, node: fx.Node) -> None:
        if isinstance(node.target, HigherOrderOperator):
            node.args = fx.node.map_aggregate(node.args, functools.partial(self._operator_inside, node))
        elif node.target is prims.inductor_seeds.default:
            _draw_seeds(node)
        if isinstance(node.target, OpOverload):
            if _moves(node):
                _copy_instead(node)
            if excursions.is_needed(node.target):
                node.target = self._operator(node, node.target, _places_on_host(node))
                return
        node.args = fx.node.map_aggregate(node.args, self.value)
        node.kwargs = fx.node.map_aggregate(node.kwargs, self.value)

    def _operator_inside(self, node: fx.Node, value: Any) -> Any:
        return self._operator(node, value, ()) if _needs_excursion(value) else value

    def _operator(self, node: fx.Node, operator: OpOverload, host: tuple[int, ...]) -> OpOverload:
        index = next(iter(_indices(node)), int(started().native.current_device()))
        name: str = operator.name()  # type: ignore[no-untyped-call]
        excursion = Excursion(name, index, host)
        self.excursions[excursion] = None
        return _called_as_it_is(excursions.define(excursion))


@functools.cache
def _called_as_it_is(operator: OpOverload) -> OpOverload:
    from torch._inductor.lowering import make_fallback

    make_fallback(operator, warn=False)  # type: ignore[no-untyped-call]
    return operator


def _needs_excursion(operator: object) -> bool:
    return isinstance(operator, OpOverload) and excursions.is_needed(operator)


def _indices(node: fx.Node) -> set[int]:
    """Return the devices of a call's arguments, or else of its result."""
    leaves = pytree.tree_leaves((node.args, dict(node.kwargs)))
    values = [each.meta.get("val") if isinstance(each, fx.Node) else each for each in leaves]
    return {_index(value) for value in pytree.tree_leaves(values) if is_on_device(value)}


def _counterpart(value: Any) -> Any:
    if isinstance(value, torch.device):
        return HOST
    if isinstance(value, FakeTensor):
        return twin(value, HOST)
    host = started().native.host_tensor(value)
    if is_frozen_param(value):
        host._is_frozen_param = True
    return host


def _draw_seeds(node: fx.Node) -> None:
    """Draw the seeds of inductor's random numbers from the device's generator."""
    limits, (count, device) = torch.iinfo(torch.int64), node.args
    node.target = aten.randint.low
    node.args = limits.min, limits.max, [count]
    node.kwargs = {"dtype": torch.int64, "device": device}


def _moves(node: fx.Node) -> bool:
    if node.target not in (prims.device_put.default, aten._to_copy.default):
        return False
    source: Any = node.args[0]
    return bool(node.meta["val"].device != source.meta["val"].device)


def _copy_instead(node: fx.Node) -> None:
    """Copy where a graph moves a tensor to another device, which on the CPU alone would do nothing."""
    source: Any = node.args[0]
    same = node.meta["val"].dtype == source.meta["val"].dtype
    kept = {"memory_format"} if same else {"memory_format", "dtype"}
    node.target = aten.clone.default if same else aten._to_copy.default
    node.kwargs = {name: value for name, value in node.kwargs.items() if name in kept}
    node.args = (source,)


def _places_on_host(node: fx.Node) -> tuple[int, ...]:
    def is_host(value: Any) -> bool:
        meta = value.meta.get("val") if isinstance(value, fx.Node) else None
        return isinstance(meta, torch.Tensor) and not is_on_device(meta)

    return tuple(place for place, each in enumerate(node.args) if any(map(is_host, pytree.tree_leaves(each))))
