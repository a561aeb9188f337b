"""The seam where there is no compiler: as much of the native one as torch's hooks for Python allow.

A fallback on CUDA's dispatch keys swaps device arguments and dispatches again, as in the native seam, at
about 5 us a call, and ``aten::to`` is implemented in Python. ``Tensor.cuda`` and ``Tensor.is_cuda`` are
replaced, because torch asks for CUDA's runtime before it dispatches. Out of reach and not served:

* ``torch.device("cuda")`` stays a CUDA device, equal to no tensor's;
* ``str(x.device)`` and ``x.type()`` name the vendor's device; of a device only ``.type`` answers by who asks;
* generators, streams and events of "cuda", and pinned memory for it;
* memory formats that the backend's operators refuse, dtypes that its collectives refuse;
* ``x.cuda()`` and ``x.is_cuda`` in TorchScript and, without a graph break, in Dynamo; FakeTensors for "cuda".
"""

from __future__ import annotations

import collections
import ctypes
import functools
import gc
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Literal

import torch

from morph.finders.torch_cuda.views import Views

KEYS = ("CUDA", "SparseCUDA", "SparseCsrCUDA", "QuantizedCUDA", "NestedTensorCUDA")


class PythonSeam:
    """CUDA as another name of a device type, by ``torch.library`` and three replaced attributes."""

    kind: Literal["python"] = "python"

    def __init__(self, problem: str | None = None) -> None:
        """Take the reason why there is no native seam, if it was not chosen."""
        self.problem = problem
        self._calls: collections.Counter[str] = collections.Counter()
        self._libraries: list[Any] = []
        self._undo: list[Callable[[], None]] = []
        self._device_type: str | None = None

    def engage(self, device_type: str) -> None:
        """Make CUDA a name of ``device_type``; engaging twice is engaging once."""
        if device_type == self._device_type:
            return
        self.disengage()
        self._device_type = device_type
        try:
            self._put_in()
        except BaseException:
            self.disengage()
            raise

    def expect_devices(self, count: int) -> None:
        """Do nothing: it counts devices at their first use."""

    def answer_by_caller(self, views: Views) -> None:
        """Let ``device.type`` be "cuda" to code that sees CUDA."""
        own = vars(torch.device)["type"]

        def type_of(device: torch.device) -> str:
            truth: str = own.__get__(device)
            return "cuda" if truth == self._device_type and views.shows_cuda(sys._getframe(1)) else truth

        _put_member(torch.device, "type", property(type_of))
        self._undo.append(lambda: _put_member(torch.device, "type", own))

    def leave_out_formats(self, operators: Sequence[str], saying: str) -> None:
        """Does nothing: a kernel in Python for every allocation would cost each program too much."""

    def reduce_on_host(self, dtypes: Sequence[str], saying: str) -> None:
        """Does nothing: torch tells Python nothing of the operation of a reduction."""

    def compute_rest_on_host(self) -> None:
        """Does nothing: torch tells Python of no kernels that compute on the host in another's place."""

    def order_copies(self, saying: str) -> None:
        """Does nothing: a kernel in Python for every copy would cost each program too much."""

    def tell_exhaustion(self, words: str) -> None:
        """Does nothing: a kernel in Python for every copy would cost each program too much."""

    def count_waits(self) -> None:
        """Does nothing: a kernel in Python would cost each ``Tensor.item()`` a third of its time."""

    def waits(self) -> tuple[int, int]:
        """Return zeros: nothing is counted."""
        return 0, 0

    def number_by_local_rank(self) -> None:
        """Does nothing: a device keeps the number that the vendor gives it."""

    def disengage(self) -> None:
        """Remove the kernels and put the attributes back."""
        while self._undo:
            self._undo.pop()()
        while self._libraries:
            self._libraries.pop()._destroy()
        self._device_type = None

    def caught(self) -> dict[str, int]:
        """Return the number of redirected calls by operator name."""
        return dict(self._calls)

    def _put_in(self) -> None:
        for key in KEYS:
            self._library("_", key).fallback(self._dispatch_again, key)
        moves = self._library("aten", "CompositeImplicitAutograd")
        with warnings.catch_warnings():
            # torch warns when a kernel replaces another, which is intended here.
            warnings.simplefilter("ignore")
            for key in KEYS:
                self._replace_kernels(key)
            moves.impl("to.dtype_layout", self._to)
            moves.impl("to.device", self._to_device)
        self._replace(torch.Tensor, "cuda", _cuda)
        self._replace(torch.Tensor, "is_cuda", property(self._is_cuda))
        self._replace(torch.cuda, "_lazy_init", lambda: None)

    def _library(self, namespace: str, key: str) -> Any:
        library: Any = torch.library.Library(namespace, "IMPL", key)  # type: ignore[no-untyped-call]
        self._libraries.append(library)
        return library

    def _replace_kernels(self, key: str) -> None:
        """Replace the kernels of a torch that was built for CUDA, which come before a fallback."""
        for name in torch._C._dispatch_get_registrations_for_dispatch_key(key):
            operator, (namespace, _, rest) = _operator(name), name.partition("::")
            in_python = f"{namespace}/{rest}/{key}" in torch.library._impls  # which torch replaces nowhere
            if operator is not None and _takes_device(operator) and not in_python:
                library = self._library(namespace, key)
                library.impl(operator, functools.partial(self._dispatch_again, operator), key)

    def _replace(self, owner: Any, name: str, value: object) -> None:
        if name in vars(owner):
            original = vars(owner)[name]
            self._undo.append(lambda: setattr(owner, name, original))
        else:
            self._undo.append(lambda: delattr(owner, name))
        setattr(owner, name, value)

    def _translate(self, argument: Any) -> Any:
        if not isinstance(argument, torch.device) or argument.type != "cuda":
            return argument
        assert self._device_type is not None
        count = getattr(torch, self._device_type).device_count()
        if argument.index is not None and argument.index >= count:
            counted = "there is 1" if count == 1 else f"there are {count}"
            raise RuntimeError(f"{argument}: the device does not exist, {counted} ({self._device_type})")
        if argument.index is None:
            return torch.device(self._device_type)
        return torch.device(self._device_type, argument.index)

    def _dispatch_again(self, op: Any, *args: Any, **kwargs: Any) -> Any:
        self._calls[op.name()] += 1
        translated = {name: self._translate(argument) for name, argument in kwargs.items()}
        return op(*map(self._translate, args), **translated)

    def _to(
        self,
        tensor: torch.Tensor,
        dtype: torch.dtype | None = None,
        layout: torch.layout | None = None,
        device: torch.device | None = None,
        pin_memory: bool | None = None,
        non_blocking: bool = False,
        copy: bool = False,
        memory_format: torch.memory_format | None = None,
    ) -> torch.Tensor:
        target = self._translate(device)
        wanted = (dtype or tensor.dtype, layout or tensor.layout, _indexed(target) or tensor.device)
        stays = wanted == (tensor.dtype, tensor.layout, tensor.device)
        if stays and not copy and _has_format(tensor, memory_format):
            return tensor
        moved: torch.Tensor = torch.ops.aten._to_copy(
            tensor,
            dtype=dtype,
            layout=layout,
            device=target,
            pin_memory=pin_memory,
            non_blocking=non_blocking,
            memory_format=memory_format,
        )
        return moved

    def _to_device(
        self,
        tensor: torch.Tensor,
        device: torch.device,
        dtype: torch.dtype,
        non_blocking: bool = False,
        copy: bool = False,
        memory_format: torch.memory_format | None = None,
    ) -> torch.Tensor:
        return self._to(tensor, dtype, None, device, None, non_blocking, copy, memory_format)

    def _is_cuda(self, tensor: torch.Tensor) -> bool:
        return tensor.device.type in (self._device_type, "cuda")


def _put_member(kind: type, name: str, member: object) -> None:
    """Exchange a member of a class in C, which refuses that to ``setattr``."""
    members: dict[str, object] = gc.get_referents(vars(kind))[0]
    members[name] = member
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))


def _cuda(
    self: torch.Tensor,
    device: torch.device | str | int | None = None,
    non_blocking: bool = False,
    *,
    memory_format: torch.memory_format = torch.preserve_format,
) -> torch.Tensor:
    """As ``torch.Tensor.cuda``."""
    target = torch.device("cuda", device) if isinstance(device, int) else torch.device(device or "cuda")
    return self.to(target, non_blocking=non_blocking, memory_format=memory_format)


def _operator(name: str) -> Any:
    """Return the overload of a name of the dispatcher; None if it has no schema."""
    namespace, _, rest = name.partition("::")
    base, _, overload = rest.partition(".")
    packet = getattr(getattr(torch.ops, namespace), base, None)
    found = getattr(packet, overload or "default", None)
    return found if isinstance(found, torch._ops.OpOverload) else None


def _takes_device(operator: Any) -> bool:
    return any("Device" in str(argument.type) for argument in operator._schema.arguments)


def _indexed(device: torch.device | None) -> torch.device | None:
    if device is None or device.index is not None or device.type in ("cpu", "meta"):
        return device
    return torch.device(device.type, getattr(torch, device.type).current_device())


def _has_format(tensor: torch.Tensor, memory_format: torch.memory_format | None) -> bool:
    if memory_format in (None, torch.preserve_format):
        return True
    return tensor.is_contiguous(memory_format=memory_format)
