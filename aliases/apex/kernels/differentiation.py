"""Functions with a backward pass of their own, for where that saves memory."""

from __future__ import annotations

from typing import Any

import torch


class TorchsUnlessSaving(torch.autograd.Function):
    """A function that goes torch's own way, which is faster, unless its last argument asks to save memory.

    A subclass has ``torchs``, which takes the arguments but ``memory_efficient``.
    """

    torchs: Any

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Return the output; ``memory_efficient`` may be left out."""
        count: int = cls.torchs.__code__.co_argcount
        if any(args[count:]):
            return super().apply(*args)  # type: ignore[no-untyped-call]
        return cls.torchs(*args[:count])
