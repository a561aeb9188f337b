"""Dynamo: traced code sees what the same code sees when it runs."""

from __future__ import annotations

import os
from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch

import morph
from morph import aliases, finders
from morph.device.parameters import Handler, wrap
from morph.device.words import Words
from morph.finders.finder import on_import
from morph.journal import Journal


def install(words: Words, journal: Journal) -> None:
    """Correct, once Dynamo is imported, what it derives from a device's type.

    Args:
        words: What CUDA's words become.
        journal: Records every rebinding.
    """
    variables = "torch._dynamo.variables"
    wrap(f"{variables}.tensor:TensorVariable.method_attr_is_cuda", lambda f: _is_cuda(words), words, journal)
    on_import(f"{variables}.torch", lambda module: _fold_device_count(module, journal), journal)
    on_import("torch._dynamo.trace_rules", lambda module: _trace_only_when_called(module, journal), journal)


def _is_cuda(words: Words) -> Handler:
    own = words.backend.device_type

    def call(
        wrapped: Callable[..., Any], variable: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        if variable.device is None or variable.device.type != own:
            return wrapped(*args, **kwargs)
        from torch._dynamo.variables import ConstantVariable

        return ConstantVariable.create(True)

    return call


def _fold_device_count(module: ModuleType, journal: Journal) -> None:
    """Have Dynamo fold the number of devices, as it folds whether there is one."""
    journal.set_item(module.constant_fold_functions, torch.cuda.device_count, None)


def _trace_only_when_called(rules: ModuleType, journal: Journal) -> None:
    """Have Dynamo treat what serves torch.cuda as torch itself: compiled in its callers, never alone."""
    folders = {os.path.join(package.__path__[0], "") for package in (morph, aliases, finders)}
    journal.set_attribute(rules, "SKIP_DIRS", [*rules.SKIP_DIRS, *sorted(folders)])
    journal.set_attribute(rules, "BUILTIN_INLINE_WHEN_CALLED", rules.BUILTIN_INLINE_WHEN_CALLED | folders)
    journal.set_attribute(rules, "SKIP_DIRS_RE", rules.SKIP_DIRS_RE)
    rules._recompile_re()
