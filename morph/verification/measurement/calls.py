"""Single calls: the CUDA spelling against the device's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from morph.verification.measurement.timing import compare

STEADY = 1.25  # the third quartile over the first, at most
# CUDA's spelling, and the device's own where {device} and {module} stand for its type and its module
CALLS = {
    "torch.cuda.current_device()": "{module}.current_device()",
    "torch.cuda.current_stream()": "{module}.current_stream()",
    "torch.cuda.is_available()": "{module}.is_available()",
    "torch.cuda.synchronize()": "{module}.synchronize()",
    "torch.device('cuda')": "torch.device('{device}')",
    "torch.empty(4, device='cuda')": "torch.empty(4, device='{device}')",
    "torch.empty(4)": "torch.empty(4)",
    "host.to('cuda')": "host.to('{device}')",
    "there.to('cuda')": "there.to('{device}')",
    "there.cuda()": "there.to('{device}')",
    "there.to(torch.float32)": "there.to(torch.float32)",
    "there.is_cuda": "there.{is_device}",
    "there + 1": "there + 1",
}


@dataclass(frozen=True, slots=True)
class Figure:
    """The cost of one call.

    Attributes:
        call: CUDA's spelling.
        cuda: Nanoseconds per call in that spelling; None if it fails.
        own: Nanoseconds per call in the device's own spelling.
        quartiles: The first and the third quartile of the ratio, over all rounds.
        error: Why it fails, or None.
    """

    call: str
    cuda: float | None = None
    own: float | None = None
    quartiles: tuple[float, float] | None = None
    error: str | None = None

    @property
    def ratio(self) -> float | None:
        """The time of the CUDA spelling relative to the device's own."""
        return self.cuda / self.own if self.cuda and self.own else None

    @property
    def is_unsteady(self) -> bool:
        """Whether the ratio differs so much from round to round that it says little."""
        return self.quartiles is not None and self.quartiles[1] > STEADY * self.quartiles[0]


def figures(device_type: str, rounds: int = 60) -> Iterator[Figure]:
    """Measure every call in this process, where "cuda" means the device of ``device_type``.

    Args:
        device_type: torch's name of it, such as ``"npu"``; its package is imported.
        rounds: The number of timings of each spelling.
    """
    import torch

    own = {"device": device_type, "module": f"torch.{device_type}", "is_device": f"is_{device_type}"}
    tensors = {"host": torch.ones(4), "there": torch.ones(4, device=device_type)}
    names = {"__name__": "__main__", "torch": torch, **tensors}
    for cuda, spelling in CALLS.items():
        try:
            works = _evaluator(cuda, names), _evaluator(spelling.format(**own), names)
            result = compare(cuda, *works, rounds=rounds)
            yield Figure(cuda, result.cuda, result.own, result.quartiles)
        except Exception as error:  # a call that fails is a result too
            yield Figure(cuda, error=str(error).partition("\n")[0])


def _evaluator(source: str, names: dict[str, Any]) -> Callable[[], object]:
    function: Callable[[], object] = eval(f"lambda: {source}", names)
    return function
