"""The seam where there is no compiler: what Python's own hooks into torch can do of the native one.

One boxed fallback on CUDA's dispatch keys swaps device arguments and dispatches again, as in the native seam, at
about 5 us a call. What asks torch for a CUDA device before it dispatches is out of its reach: `Tensor.to`,
`Tensor.cuda` and `Tensor.is_cuda` are wrapped instead, and the rest is not served. `torch.device("cuda")` stays a
CUDA device and equals no tensor's device; `torch.Generator`, `torch.Stream` and `torch.Event` of "cuda",
TorchScript's `x.to("cuda")` and FakeTensors fail as without morph.
"""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any, Literal

import torch

KEYS = ("CUDA", "SparseCUDA", "SparseCsrCUDA", "QuantizedCUDA")


class PythonSeam:
    """CUDA as another name of a device type, by `torch.library` and three wrappers."""

    kind: Literal["python"] = "python"

    def __init__(self) -> None:
        self._calls: collections.Counter[str] = collections.Counter()
        self._libraries: list[torch.library.Library] = []
        self._undo: list[Callable[[], None]] = []
        self._device_type: str | None = None

    def engage(self, device_type: str) -> None:
        """Makes CUDA a name of `device_type`."""
        if device_type == self._device_type:
            return
        self.disengage()
        self._device_type = device_type
        for key in KEYS:
            library = torch.library.Library("_", "IMPL", key)  # type: ignore[no-untyped-call]
            library.fallback(self._dispatch_again, key)  # type: ignore[no-untyped-call]
            self._libraries.append(library)
        self._replace(torch.Tensor, "cuda", self._cuda)
        self._replace(torch.Tensor, "is_cuda", property(self._is_cuda))
        self._replace(torch.cuda, "_lazy_init", self._initialize)

    def disengage(self) -> None:
        """Removes the fallbacks and the wrappers."""
        while self._undo:
            self._undo.pop()()
        while self._libraries:
            self._libraries.pop()._destroy()  # type: ignore[no-untyped-call]
        self._device_type = None

    def caught(self) -> dict[str, int]:
        """Returns how many calls came through, by operator name."""
        return dict(self._calls)

    def _replace(self, owner: Any, name: str, value: object) -> None:
        if name in vars(owner):
            original = vars(owner)[name]
            self._undo.append(lambda: setattr(owner, name, original))
        else:
            self._undo.append(lambda: delattr(owner, name))
        setattr(owner, name, value)

    def _translate(self, argument: object) -> object:
        if isinstance(argument, torch.device) and argument.type == "cuda":
            return self._target(argument.index)
        return argument

    def _target(self, index: int | None) -> torch.device:
        assert self._device_type is not None
        if self._device_type == "cpu" or index is None:
            if index:
                raise RuntimeError(f"cuda:{index}: the device does not exist, there is 1 (cpu)")
            return torch.device(self._device_type)
        return torch.device(self._device_type, index)

    def _dispatch_again(self, op: Any, *args: Any, **kwargs: Any) -> Any:
        self._calls[op.name()] += 1
        translated = [self._translate(argument) for argument in args]
        return op(*translated, **{name: self._translate(argument) for name, argument in kwargs.items()})

    @property
    def _cuda(self) -> Callable[..., torch.Tensor]:
        seam = self

        def cuda(
            self: torch.Tensor,
            device: torch.device | str | int | None = None,
            non_blocking: bool = False,
            *,
            memory_format: torch.memory_format = torch.preserve_format,
        ) -> torch.Tensor:
            index = device if isinstance(device, int) or device is None else torch.device(device).index
            target = seam._target(index)
            return self.to(
                target, non_blocking=non_blocking, copy=target.type == "cpu", memory_format=memory_format
            )

        return cuda

    def _is_cuda(self, tensor: torch.Tensor) -> bool:
        return tensor.device.type in (self._device_type, "cuda")

    def _initialize(self) -> None:
        """The target's runtime is initialised by the vendor's package when it is used."""
