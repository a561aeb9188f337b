"""What these optimizers are handed in place of the parameters' own gradients."""

from __future__ import annotations

from collections.abc import Iterable
from types import GeneratorType
from typing import Any


def by_group(given: Any, groups: int) -> Iterable[Any]:
    """Return tensors by groups of parameters.

    Args:
        given: None, tensors of one group, or lists of tensors.
        groups: How many groups there are.

    Returns:
        A collection of tensors for each group, or None for each.
    """
    if given is None:
        return [None] * groups
    return [given] if isinstance(given, GeneratorType) or not isinstance(given[0], list) else given
