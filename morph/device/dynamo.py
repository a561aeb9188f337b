"""Dynamo: traced code sees the same names as code that runs."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch

import morph
from morph.base.announcement import report
from morph.base.journal import Journal
from morph.device.parameters import Args, Handler, Kwargs, wrap
from morph.device.words import Words
from morph.finders.callers import caller
from morph.finders.finder import on_import


def install(words: Words, journal: Journal) -> None:
    """Correct, once Dynamo is imported, the values that it and inductor derive from a device's type."""
    variables = "torch._dynamo.variables"
    wrap(f"{variables}.tensor:TensorVariable.method_attr_is_cuda", lambda f: _is_cuda(words), words, journal)
    interface = "torch._dynamo.device_interface:get_interface_for_device"
    wrap(interface, lambda function: _interface_for_device(words), words, journal)
    hooks: dict[str, Callable[[ModuleType], None]] = {
        # it folds torch.cuda.is_available and get_device_properties, but not this one (as of 2.13)
        f"{variables}.torch": lambda module: journal.set_item(
            module.constant_fold_functions, torch.cuda.device_count, None
        ),
        "torch._dynamo.trace_rules": lambda module: _trace_only_when_called(module, journal),
        "torch._inductor.compile_fx": lambda module: _do_without_compiler(module, words, journal),
    }
    for name, hook in hooks.items():
        on_import(name, hook, journal, name)


def _is_cuda(words: Words) -> Handler:
    own = words.backend.device_type

    def call(wrapped: Callable[..., Any], variable: Any, args: Args, kwargs: Kwargs) -> Any:
        if variable.device is None or variable.device.type != own:
            return wrapped(*args, **kwargs)
        from torch._dynamo.variables import ConstantVariable

        return ConstantVariable.create(True)

    return call


def _interface_for_device(words: Words) -> Handler:
    """Return the backend's interface for CUDA, except to ``has_triton``, which tries all of triton's."""
    own = words.backend.device_type

    def without_index(device: Any) -> Any:  # torch_tpu registers none for "tpu:0"
        named = words.device(device)
        return own if isinstance(named, str) and named.startswith(f"{own}:") else named

    def call(wrapped: Callable[..., Any], instance: Any, args: Args, kwargs: Kwargs) -> Any:
        if caller(sys._getframe(1)) == "torch.utils._triton":
            return wrapped(*args, **kwargs)
        translated = {name: without_index(value) for name, value in kwargs.items()}
        return wrapped(*map(without_index, args), **translated)

    return call


def _trace_only_when_called(rules: ModuleType, journal: Journal) -> None:
    """Make Dynamo treat the code that serves torch.cuda as torch's: compiled in its callers, never alone."""
    beside = (os.path.join(morph.__path__[-1], name, "") for name in ("aliases", "finders"))
    folders = {os.path.join(morph.__path__[0], ""), *beside}
    # trace_rules knows files outside torch by these lists and their regular expression only
    journal.set_attribute(rules, "SKIP_DIRS", [*rules.SKIP_DIRS, *sorted(folders)])
    _inline_when_called(rules, folders, journal)
    journal.set_attribute(rules, "SKIP_DIRS_RE", rules.SKIP_DIRS_RE)
    rules._recompile_re()


def hash_functions_again() -> None:
    """Have Dynamo find torch's functions by their hash, which is of their code: the seam has changed it."""
    rule_map = getattr(sys.modules.get("torch._dynamo.trace_rules"), "get_torch_obj_rule_map", None)
    if rule_map is not None and rule_map.cache_info().currsize:
        found = rule_map()
        rows = list(found.items())
        found.clear()
        found.update(rows)


def _inline_when_called(rules: ModuleType, folders: set[str], journal: Journal) -> None:
    if hasattr(rules, "BUILTIN_INLINE_WHEN_CALLED"):
        journal.set_attribute(rules, "BUILTIN_INLINE_WHEN_CALLED", rules.BUILTIN_INLINE_WHEN_CALLED | folders)
        return
    inlined: Callable[[], set[str]] = rules.get_mod_inlinelist  # all there is before torch 2.12
    journal.set_attribute(rules, "get_mod_inlinelist", functools.cache(lambda: inlined() | folders))


def _do_without_compiler(module: ModuleType, words: Words, journal: Journal) -> None:
    """Make inductor run a graph for a device that it has no compiler for, instead of failing.

    Its ``Scheduler.create_backend`` raises where triton is missing (pytorch/pytorch#88849).
    """
    compile_fx: Callable[..., Any] = vars(module)["compile_fx"]
    own = words.backend.device_type

    @functools.wraps(compile_fx)
    def compile_or_run(model_: Any, example_inputs_: Any, *args: Any, **kwargs: Any) -> Any:
        if not _concerns(own, model_, example_inputs_) or _has_compiler(own):
            return compile_fx(model_, example_inputs_, *args, **kwargs)
        from torch._dynamo.backends.debugging import aot_eager

        _say_without_compiler(own)
        return aot_eager(model_, example_inputs_)

    journal.set_attribute(module, "compile_fx", compile_or_run)


@functools.cache
def _say_without_compiler(own: str) -> None:
    report(f"inductor has no compiler for {own} here: its graphs run as with backend='aot_eager'")


def _concerns(own: str, model: Any, inputs: Any) -> bool:
    """Return whether a graph takes or creates tensors of the vendor's device; AOTInductor's do not count."""
    from torch._inductor.virtualized import V

    nodes = model.graph.nodes if isinstance(model, torch.fx.GraphModule) else ()
    values = [*inputs, *(node.meta.get("example_value", node.meta.get("val")) for node in nodes)]
    tensors = (value for value in values if isinstance(value, torch.Tensor))
    return not V.aot_compilation and any(tensor.device.type == own for tensor in tensors)


def _has_compiler(own: str) -> bool:
    from torch._inductor.codegen.common import get_scheduling_for_device, init_backend_registration
    from torch._inductor.utils import is_gpu
    from torch.utils._triton import has_triton

    init_backend_registration()
    if get_scheduling_for_device(own) is None:
        return False
    return not is_gpu(own) or (has_triton() and _has_driver())  # torch's own code for GPUs is triton's


def _has_driver() -> bool:
    """Return whether the installed triton compiles for a device that is here; the stock one does not."""
    from triton.backends import backends

    return any(each.driver.is_active() for each in backends.values())
