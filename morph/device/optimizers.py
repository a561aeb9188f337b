"""Optimizers that graphs can capture: torch asks for a device with graphs, which the CPU is under morph."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import wrapt
from torch.optim.optimizer import _get_capturable_supported_devices

from morph.device.words import Words
from morph.journal import Journal

NAME = _get_capturable_supported_devices.__name__


def install(words: Words, journal: Journal) -> None:
    """Have ``capturable=True`` accept parameters on the CPU where that is the backend's device.

    Args:
        words: Tell whether it is.
        journal: Records every rebinding.
    """
    if not words.on_cpu:
        return
    asked = wrapt.FunctionWrapper(_get_capturable_supported_devices, _with_cpu, enabled=words.engaged)
    for name, module in list(sys.modules.items()):
        if name.startswith("torch.optim.") and NAME in vars(module):
            journal.set_attribute(module, NAME, asked)


def _with_cpu(wrapped: Callable[..., list[str]], instance: Any, args: Any, kwargs: Any) -> list[str]:
    return [*wrapped(*args, **kwargs), "cpu"]
