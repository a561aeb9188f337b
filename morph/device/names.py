"""Names of torch's outside ``torch.cuda`` that mean CUDA, on a backend: ``torch.Tensor.cuda``."""

from __future__ import annotations

import functools
import importlib
import operator
from typing import Any

from morph.backends import resolve
from morph.backends.tables.rows import Facts, Row, Status
from morph.device import parameters

PLACES = ("{}", "torch.{}", "torch.Tensor.{}", "torch.nn.{}", "torch.distributed.{}")


def full_name(name: str) -> str | None:
    """Return the dotted name of what ``name`` means in torch, which is imported; None if it means nothing.

    >>> full_name("init_process_group")
    'torch.distributed.init_process_group'
    """
    for place in PLACES:
        full = place.format(name)
        if full.startswith("torch.") and _found(full) is not None:
            return full
    return None


def row(name: str, facts: Facts) -> Row:
    """Return how the object with that dotted name understands CUDA.

    Args:
        name: As ``full_name`` returns it.
        facts: The backend's.
    """
    if facts.native_cuda:
        return Row(name, Status.SAME, note="torch's own: the device type is CUDA's")
    texts = [_text(parameter, kind, facts) for parameter, kind in _parameters(_found(name)).items()]
    note = f'"cuda" is another name of the device type "{facts.device_type}", below Python'
    return Row(name, Status.SAME, note="; ".join(texts) or note)


def _text(parameter: str, kind: str, facts: Facts) -> str:
    ours, theirs = ("nccl", facts.collective) if kind == "collective" else ("cuda", facts.device_type)
    return f'"{ours}" for {parameter} is read as "{theirs}"'


def _parameters(found: Any) -> dict[str, str]:
    """Return the parameters of a function, or of a class when it is made, that take CUDA's words."""
    kinds = (kinds for key, kinds in parameters.table().items() if _is(key, found))
    return dict(next(kinds, {}))


def _is(key: str, found: Any) -> bool:
    module, _, qualified = key.partition(":")
    try:
        owner = importlib.import_module(module)
        listed = operator.attrgetter(qualified.removesuffix(".__init__"))(owner)
    except (ImportError, AttributeError):
        return False
    are_classes = isinstance(found, type) and isinstance(listed, type)
    return listed is found or (qualified.endswith(".__init__") and are_classes and issubclass(found, listed))


@functools.cache
def _found(name: str) -> Any:
    try:
        return resolve(name)
    except (AttributeError, ImportError):
        return None
