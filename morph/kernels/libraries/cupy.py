"""cupy's modules of kernels that NVIDIA's compiler has compiled: what stands in for them.

Its elementwise, reduction and raw kernels are compiled at run time, and run. Where CUB's do not apply, cupy
takes kernels of its own. Thrust's sort is done by NumPy, in the memory that host and device share.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from morph.finders.finder import on_import
from morph.software.machine import started

if TYPE_CHECKING:
    from types import ModuleType

    from morph.base.journal import Journal

_FALLBACKS = ("cub_reduction", "cub_scan", "cub_histogram")
_COMPILED = ("device_reduce", "device_segmented_reduce", "device_scan", "device_histogram")


def install(journal: Journal) -> None:
    """Put them in their places once cupy is imported.

    Args:
        journal: Records every change.
    """
    on_import("cupy.cuda.cub", lambda module: _leave_out_cub(module, journal), journal)
    on_import("cupy.cuda.thrust", lambda module: _sort_on_host(module, journal), journal)


def _leave_out_cub(module: ModuleType, journal: Journal) -> None:
    for name in _FALLBACKS:
        journal.set_attribute(module, name, _not_applicable)
    for name in _COMPILED:
        journal.set_attribute(module, name, _refused(name))


def _sort_on_host(module: ModuleType, journal: Journal) -> None:
    for function in (sort, argsort, lexsort):
        journal.set_attribute(module, function.__name__, function)


def _not_applicable(*arguments: Any, **named: Any) -> None:
    """Return None, by which cupy takes its own kernel."""


def _refused(name: str) -> Any:
    def refuse(*arguments: Any, **named: Any) -> None:
        raise NotImplementedError(f"cupy.cuda.cub.{name} was compiled for a GPU; cupy's own reductions run")

    return refuse


def sort(dtype: Any, data_start: int, keys_start: int, shape: Sequence[int]) -> None:
    """Sort along the last axis, in place.

    Args:
        dtype: The elements' type.
        data_start: Where they begin.
        keys_start: Memory that is not needed.
        shape: The array's shape.
    """
    _array(data_start, shape, dtype).sort(axis=-1, kind="stable")


def argsort(dtype: Any, idx_start: int, data_start: int, keys_start: int, shape: Sequence[int]) -> None:
    """Write the indices that sort along the last axis.

    Args:
        dtype: The elements' type.
        idx_start: Where the indices go.
        data_start: Where the elements begin.
        keys_start: Memory that is not needed.
        shape: The array's shape.
    """
    data = _array(data_start, shape, dtype)
    _array(idx_start, shape, "intp")[...] = data.argsort(axis=-1, kind="stable")


def lexsort(dtype: Any, idx_start: int, keys_start: int, k: int, n: int) -> None:
    """Write the indices that sort by several keys, the last one first.

    Args:
        dtype: The keys' type.
        idx_start: Where the indices go.
        keys_start: Where the keys begin.
        k: How many keys there are.
        n: How many elements each one has.
    """
    import numpy

    _array(idx_start, (n,), "intp")[...] = numpy.lexsort(_array(keys_start, (k, n), dtype))


def _array(address: int, shape: Sequence[int], dtype: Any) -> Any:
    """Return the device's memory as an array of NumPy's, which can be used though MORPH_SANITIZE hides it."""
    import numpy

    usable = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(started().native.interface()["usable"])
    size = math.prod(shape) * numpy.dtype(dtype).itemsize
    memory = (ctypes.c_ubyte * size).from_address(usable(address) or 0)
    return numpy.frombuffer(memory, dtype=dtype).reshape(shape)
