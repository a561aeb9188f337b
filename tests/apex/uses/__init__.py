"""One use of every apex name that public projects use, in their manner, with its result checked."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

Use = Callable[[], None]
USES: dict[str, Use] = {}


def use(*names: str) -> Callable[[Use], Use]:
    """Registers a function as the use of the given names."""

    def register(function: Use) -> Use:
        USES.update(dict.fromkeys(names, function))
        return function

    return register


def values(seed: int, *shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).cuda()
