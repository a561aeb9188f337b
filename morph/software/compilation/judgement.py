"""Whether inductor captures a compiled graph: the graph for the device tells, not the one for the CPU."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import fx
from torch.utils import _pytree as pytree

from morph.base.journal import Journal
from morph.finders.finder import on_import
from morph.software.compilation.fakes import is_on_device


class _Judged(threading.local):
    module: fx.GraphModule | None = None


_judged = _Judged()


@contextmanager
def judging(module: fx.GraphModule) -> Iterator[None]:
    """Make inductor judge by a graph for the device while it compiles another one in its place."""
    before, _judged.module = _judged.module, module
    try:
        yield
    finally:
        _judged.module = before


def place(journal: Journal) -> None:
    """Make inductor ask for the graph that ``judging`` names; ``journal`` records it."""
    on_import(
        "torch._inductor.cudagraph_utils",
        lambda module: _ask(module, "check_lowering_disable_cudagraph", _first_nodes, journal),
        journal,
    )
    on_import(
        "torch._inductor.compile_fx",
        lambda module: _ask(module, "get_first_incompatible_cudagraph_node", lambda graph: graph, journal),
        journal,
    )
    on_import("torch._inductor.output_code", lambda module: _tell_devices(module, journal), journal)


def _ask(module: Any, name: str, view: Any, journal: Journal) -> None:
    ask = getattr(module, name)

    @functools.wraps(ask)
    def ask_of_judged(of_host: Any) -> Any:
        return ask(of_host if _judged.module is None else view(_judged.module))

    journal.set_attribute(module, name, ask_of_judged)


def _tell_devices(output_code: Any, journal: Journal) -> None:
    compiled = output_code.CompiledFxGraph
    initialise = compiled.__init__

    @functools.wraps(initialise)
    def __init__(self: Any, current_callable: Any, graph: Any, *arguments: Any, **options: Any) -> None:
        if _judged.module is not None:
            devices = _first_nodes(_judged.module)
            graph.device_types = type(graph.device_types)(each.type for each in devices)
            graph.device_idxs = type(graph.device_idxs)(each.index for each in devices if is_on_device(each))
        initialise(self, current_callable, graph, *arguments, **options)

    journal.set_attribute(compiled, "__init__", __init__)


def _first_nodes(module: fx.GraphModule) -> dict[torch.device, fx.Node]:
    """Return the devices that a graph works on, each with its first node; an unused input is on none."""
    found: dict[torch.device, fx.Node] = {}
    for node in module.graph.nodes:
        computes = node.op == "call_function" and not _is_moved(node)
        if computes or (node.op == "placeholder" and node.users):
            for value in pytree.tree_leaves(node.meta.get("val")):
                if isinstance(value, torch.Tensor) and not (computes and _is_empty(value)):
                    found.setdefault(value.device, node)
    return found


def _is_empty(tensor: torch.Tensor) -> bool:
    return any(isinstance(size, int) and size == 0 for size in tensor.shape)


def _is_moved(node: fx.Node) -> bool:
    """Return whether inductor makes a tensor on the device where the graph makes it on the host."""
    if node.all_input_nodes or not node.users:
        return False
    return all(any(map(is_on_device, pytree.tree_leaves(user.meta.get("val")))) for user in node.users)
