"""Launching: the arguments of a kernel, and its instances over threads."""

from __future__ import annotations

import array
import contextlib
import ctypes
import os
import random
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from morph.kernels.triton import descriptors
from morph.kernels.triton.errors import KernelFailedError, UnsupportedOperationError
from morph.software import capture, sanitizing, settings
from morph.software.machine import started

SHUFFLE = "MORPH_SHUFFLE"
FORMATS = {
    **{"i1": "?", "u1": "?", "i8": "b", "u8": "B", "i16": "h", "u16": "H", "i32": "i", "u32": "I"},
    **{"i64": "q", "u64": "Q", "fp16": "e", "fp32": "f", "f32": "f", "fp64": "d", "bf16": "H"},
}
WIDTHS = {"i1": 1, "u1": 1, **{f"{sign}{width}": width for sign in "iu" for width in (8, 16, 32, 64)}}

Used = tuple[list[torch.Tensor], list[torch.Tensor]]
Hook = Callable[[Any], object] | None


_TOLD = {  # by headers/checks.h
    settings.MEMORY: "an illegal memory access",
    settings.INIT: "a read where nothing was written",
    settings.RACE: "a race with",
}


class Launcher:
    """Launches one compiled kernel; triton makes one for each."""

    def __init__(self, source: Any, metadata: Any) -> None:
        self._signature = tuple(source.signature.values())
        self._source = source
        self._name = metadata.name
        self._frame = metadata.frame
        self._unsupported = metadata.unsupported
        self._written = metadata.written
        types = list(_types(self._signature))
        self._converters = [_converter(type, number) for number, type in enumerate(types)]
        self._layout = struct.Struct(
            "@" + "".join("P" if type[0] == "*" else FORMATS[type] for type in types)
        )
        self._is_plain = list(self._signature) == types
        self._threads = int(settings.RACE in settings.sanitizers())  # 0: as many as torch has
        hidden = started().native.hides_memory()
        self._access = sanitizing.device_access if hidden else contextlib.nullcontext

    def __call__(
        self,
        x: int,
        y: int,
        z: int,
        stream: int,
        function: Any,
        kernel: Any,
        launch: Any,
        enter: Hook,
        leave: Hook,
        *arguments: Any,
    ) -> None:
        """Run all instances.

        Args:
            x: The first dimension of the grid.
            y: The second.
            z: The third.
            stream: Not used: work is done when the call returns.
            function: The loaded library's function.
            kernel: Not used.
            launch: What the hooks get.
            enter: Called before.
            leave: Called after.
            *arguments: The kernel's.

        Raises:
            KernelFailedError: If an assertion fails, or the instances wait for each other.
            UnsupportedOperationError: If the kernel was not lowered.
            ValueError: If an argument is a tensor of the host.
        """
        if enter is not None:
            enter(launch)
        if self._unsupported:
            raise UnsupportedOperationError(*self._unsupported)
        values = arguments if self._is_plain else list(_flattened(self._signature, arguments))
        packed, used = self._pack(values), self._used(values)
        graph = capture.current()
        if graph is None:
            self._run((x, y, z), function, packed, used)
        else:
            graph.add(lambda: self._run((x, y, z), function, packed, used))
        if leave is not None:
            leave(launch)

    def _used(self, values: Sequence[Any]) -> Used | None:
        """Return the tensors that the kernel reads and those that it writes, if their order is watched."""
        if not started().native.is_order_watched():
            return None
        tensors = {number: value for number, value in enumerate(values) if _is_on_device(value)}
        return list(tensors.values()), [tensors[number] for number in self._written if number in tensors]

    def _pack(self, values: Sequence[Any]) -> bytes:
        return self._layout.pack(
            *(convert(value) for convert, value in zip(self._converters, values, strict=True))
        )

    def _run(
        self, grid: tuple[int, int, int], function: Any, packed: bytes, used: Used | None = None
    ) -> None:
        count = grid[0] * grid[1] * grid[2]
        if count <= 0:
            return
        native = started().native
        if used is not None:
            native.queue_kernel(self._name, *used)
        began = native.begin_kernel()
        with self._access():
            threads = self._threads or torch.get_num_threads()
            message = function(packed, *grid, threads, _order(count), self._frame)
        if began:  # a profiler records the device
            native.end_kernel(self._name, began)
        if message is not None:
            words = f"the Triton kernel {self._name} stopped: {message.decode()}{_origin(function)}"
            for check, told in _TOLD.items():
                if told in words:
                    native.note_found(check, words)
            raise KernelFailedError(words)


def _is_on_device(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and not value.is_cpu


def _origin(function: Any) -> str:
    """Return where the memory was taken that a checked kernel missed."""
    missed = getattr(function, "missed_allocation", None)
    lines = sanitizing.lines_of(missed.value) if missed is not None and missed.value else ""
    return f", {lines}" if lines else ""


def _order(count: int) -> ctypes.Array[ctypes.c_longlong] | None:
    """Return a shuffled order of the instances if the user asks for one, to look for races."""
    seed = os.environ.get(SHUFFLE, "0")
    if seed in ("", "0"):
        return None
    order = array.array("q", range(count))
    random.Random(seed).shuffle(order)
    return (ctypes.c_longlong * count).from_buffer(order)


def _types(signature: Sequence[Any]) -> Iterator[str]:
    for type in signature:
        if isinstance(type, tuple):
            yield from _types(type)
        elif descriptors.is_descriptor(type):
            yield from descriptors.types(type)
        elif type != "constexpr":
            yield type


def _flattened(signature: Sequence[Any], arguments: Sequence[Any]) -> Iterator[Any]:
    for type, argument in zip(signature, arguments, strict=True):
        if isinstance(type, tuple):
            yield from _flattened(type, argument)
        elif descriptors.is_descriptor(type):
            yield from descriptors.values(argument)
        elif type != "constexpr":
            yield argument


def _converter(type: str, number: int) -> Callable[[Any], Any]:
    if type[0] == "*":
        return lambda value: _address(value, number)
    if type == "bf16":
        return _bfloat16
    if type in WIDTHS:
        return _integer(type)
    return float


def _address(value: Any, number: int) -> int:
    if value is None:
        return 0
    if isinstance(value, int):
        return value
    if getattr(value, "is_cpu", False) and not value.is_pinned():
        raise ValueError(f"Pointer argument (at {number}) cannot be accessed from Triton (cpu tensor?)")
    return int(value.data_ptr())


def _integer(type: str) -> Callable[[Any], int]:
    width = WIDTHS[type]
    low = -(1 << (width - 1)) if type[0] == "i" and width > 1 else 0
    mask = (1 << width) - 1
    return lambda value: ((int(value) - low) & mask) + low


def _bfloat16(value: float) -> int:
    (word,) = struct.unpack("I", struct.pack("f", value))
    return int((word + 0x7FFF + (word >> 16 & 1)) >> 16)
