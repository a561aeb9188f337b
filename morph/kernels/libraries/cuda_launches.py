"""The functions of libcuda for kernels: their attributes and parameters, launches, and how many fit."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence
from ctypes import POINTER, c_int, c_size_t, c_uint, c_void_p
from typing import Any

from morph.kernels.extensions import Kernel
from morph.kernels.libraries import numbers
from morph.kernels.libraries.callbacks import Callbacks, required
from morph.kernels.libraries.cuda_modules import CODES, INVALID_HANDLE, INVALID_VALUE, Modules
from morph.software import capture

NOT_SUPPORTED = 801
_SHARED, _DYNAMIC, _CARVEOUT = 1, 8, 9  # of CUfunction_attribute
_KNOWN = {
    0: 1024,
    _SHARED: 0,
    2: 0,
    3: 0,
    4: 32,
    5: 80,
    6: 80,
    7: 0,
    _CARVEOUT: -1,
    **dict.fromkeys(range(10, 16), 0),
}
_COOPERATIVE, _CLUSTER = 2, 4  # of CUlaunchAttributeID
_DIMENSIONS = (c_uint,) * 7  # grid, block, bytes of shared memory


class _Attribute(ctypes.Structure):
    """A ``CUlaunchAttribute``."""

    _fields_ = [("id", c_int), ("pad", c_int), ("value", c_uint * 16)]


class _Configuration(ctypes.Structure):
    """A ``CUlaunchConfig``."""

    _fields_ = [
        ("dimensions", c_uint * 7),
        ("stream", c_void_p),
        ("attributes", POINTER(_Attribute)),
        ("count", c_uint),
    ]


def add(calls: Callbacks, known: Modules) -> None:
    """Add the functions."""
    _add_attributes(calls, known)
    _add_parameters(calls, known)
    _add_launches(calls, known)
    _add_occupancy(calls, known)


def _add_attributes(calls: Callbacks, known: Modules) -> None:
    def value(answer: Any, number: int, handle: int | None) -> int:
        function = known.functions.get(handle or 0)
        if function is None:
            return INVALID_HANDLE
        if number != _DYNAMIC and number not in _KNOWN:
            return INVALID_VALUE
        required(answer)[0] = function.shared if number == _DYNAMIC else _KNOWN[number]
        return 0

    def set_value(handle: int | None, number: int, value: int) -> int:
        function = known.functions.get(handle or 0)
        if function is None:
            return INVALID_HANDLE
        if number == _DYNAMIC:
            if not 0 <= value <= _most_shared():
                return INVALID_VALUE
            function.shared = value
        return 0 if number == _DYNAMIC or number in _KNOWN else INVALID_VALUE

    calls.serve("cuFuncGetAttribute", takes=(POINTER(c_int), c_int, c_void_p))(value)
    calls.serve("cuFuncSetAttribute", takes=(c_void_p, c_int, c_int))(set_value)

    @calls.serve("cuKernelGetAttribute", takes=(POINTER(c_int), c_int, c_void_p, c_int))
    def of_kernel(answer: Any, number: int, handle: int | None, device: int) -> int:
        return value(answer, number, handle)

    @calls.serve("cuKernelSetAttribute", takes=(c_int, c_int, c_void_p, c_int))
    def set_of_kernel(number: int, value: int, handle: int | None, device: int) -> int:
        return set_value(handle, number, value)


def _add_parameters(calls: Callbacks, known: Modules) -> None:
    sizes = POINTER(c_size_t)

    @calls.serve("cuFuncGetParamInfo", "cuKernelGetParamInfo", takes=(c_void_p, c_size_t, sizes, sizes))
    def parameter(handle: int | None, index: int, offset: Any, size: Any) -> int:
        function = known.functions.get(handle or 0)
        if function is None:
            return INVALID_HANDLE
        if index >= len(function.kernel.parameters):
            return INVALID_VALUE
        for place, value in zip((offset, size), function.kernel.parameters[index], strict=True):
            if place:
                place[0] = value
        return 0

    @calls.serve("cuFuncGetParamCount", "cuKernelGetParamCount", takes=(c_void_p, sizes))
    def count(handle: int | None, answer: Any) -> int:
        if handle not in known.functions:
            return INVALID_HANDLE
        required(answer)[0] = len(known.functions[handle].kernel.parameters)
        return 0

    @calls.serve("cuFuncIsLoaded", takes=(POINTER(c_int), c_void_p))
    def is_loaded(answer: Any, handle: int | None) -> int:
        if handle not in known.functions:
            return INVALID_HANDLE
        required(answer)[0] = 1  # CU_FUNCTION_LOADING_STATE_LOADED
        return 0


def _add_launches(calls: Callbacks, known: Modules) -> None:
    pointers = (c_void_p,) * 3  # the stream, the arguments, and the arguments as one block

    @calls.serve("cuLaunchKernel", takes=(c_void_p, *_DIMENSIONS, *pointers))
    def launch_kernel(handle: int | None, *rest: Any) -> int:
        return _launch(known, handle, rest[:7], *rest[7:])

    @calls.serve("cuLaunchCooperativeKernel", takes=(c_void_p, *_DIMENSIONS, c_void_p, c_void_p))
    def launch_cooperative(handle: int | None, *rest: Any) -> int:
        return _launch(known, handle, rest[:7], rest[7], rest[8], None, is_cooperative=True)

    @calls.serve("cuLaunchKernelEx", takes=(POINTER(_Configuration), c_void_p, c_void_p, c_void_p))
    def launch_with(how: Any, handle: int | None, arguments: int | None, extra: int | None) -> int:
        given = required(how).contents
        attributes = {given.attributes[i].id: given.attributes[i].value for i in range(given.count)}
        cluster = attributes.get(_CLUSTER, (1, 1, 1))
        if cluster[0] * cluster[1] * cluster[2] > 1:
            known.library.say(NOT_SUPPORTED, "the software device has no clusters of blocks")
            return NOT_SUPPORTED
        together = bool(attributes.get(_COOPERATIVE, (0,))[0])
        place = list(given.dimensions)
        return _launch(known, handle, place, given.stream, arguments, extra, is_cooperative=together)


def _launch(
    known: Modules,
    handle: int | None,
    dimensions: Sequence[int],
    stream: int | None,
    arguments: int | None,
    extra: int | None,
    *,
    is_cooperative: bool = False,
) -> int:
    function = known.functions.get(handle or 0)
    if function is None or not known.is_stream(stream):
        return INVALID_HANDLE
    kernel = function.kernel
    addresses = _unpacked(kernel, extra) if extra else ctypes.cast(arguments or 0, POINTER(c_void_p))
    if not addresses and kernel.parameters:
        known.library.say(INVALID_VALUE, f"{kernel.name} takes {len(kernel.parameters)} arguments")
        return INVALID_VALUE
    configuration = dimensions[:3], dimensions[3:6], dimensions[6], stream
    run = functools.partial(kernel.launch, *configuration, is_cooperative=is_cooperative)
    if graph := capture.current():
        graph.add(functools.partial(_replay, kernel, run, _copied(kernel, addresses)))
        return 0
    code, words = run(ctypes.cast(addresses, c_void_p).value)
    if code:
        code = CODES.get(code, code)
        known.library.say(code, f"{kernel.name}: {words.removeprefix('CUDA error: ')}")
    return code


def _replay(kernel: Kernel, run: Callable[[int], tuple[int, str]], arguments: Any) -> None:
    code, words = run(ctypes.addressof(arguments))
    if code:
        raise RuntimeError(f"{words} in {kernel.name}")


def _copied(kernel: Kernel, addresses: Any) -> Any:
    """Return a copy of arguments, as each replay of a graph has them."""
    values = [
        ctypes.create_string_buffer(ctypes.string_at(addresses[index], size), size)
        for index, (_, size) in enumerate(kernel.parameters)
    ]
    copied = (c_void_p * (len(values) + 1))(*map(ctypes.addressof, values))
    copied.kept = values  # type: ignore[attr-defined]
    return copied


def _unpacked(kernel: Kernel, extra: int) -> Any:
    """Return the addresses of arguments that lie in one block, as ``extra`` tells it."""
    words = ctypes.cast(extra, POINTER(c_void_p))
    given: dict[int, int] = {}
    while words[2 * len(given)]:
        given[words[2 * len(given)]] = words[2 * len(given) + 1]
    start = given.get(1)  # CU_LAUNCH_PARAM_BUFFER_POINTER
    places = [start + offset for offset, _ in kernel.parameters] if start else []
    return (c_void_p * (len(places) + 1))(*places) if start else None


def _add_occupancy(calls: Callbacks, known: Modules) -> None:
    def fitting(answer: Any, handle: int | None, threads: int, shared: int, flags: int = 0) -> int:
        if handle not in known.functions:
            return INVALID_HANDLE
        if threads <= 0:
            return INVALID_VALUE
        required(answer)[0] = _blocks(threads, shared)
        return 0

    def potential(
        grid: Any, block: Any, handle: int | None, of_block: Any, shared: int, most: int, flags: int = 0
    ) -> int:
        if handle not in known.functions:
            return INVALID_HANDLE
        threads = min(most or 1024, 1024)
        required(block)[0] = threads
        shared = of_block(threads) if of_block else shared
        required(grid)[0] = _properties().multi_processor_count * _blocks(threads, shared)
        return 0

    name, flags = "cuOccupancyMaxActiveBlocksPerMultiprocessor", (c_uint,)
    one = (POINTER(c_int), c_void_p, c_int, c_size_t)
    calls.serve(name, takes=one)(fitting)
    calls.serve(f"{name}WithFlags", takes=(*one, *flags))(fitting)
    name, of_block = "cuOccupancyMaxPotentialBlockSize", ctypes.CFUNCTYPE(c_size_t, c_int)
    both = (POINTER(c_int), POINTER(c_int), c_void_p, of_block, c_size_t, c_int)
    calls.serve(name, takes=both)(potential)
    calls.serve(f"{name}WithFlags", takes=(*both, *flags))(potential)

    @calls.serve("cuOccupancyAvailableDynamicSMemPerBlock", takes=(POINTER(c_size_t), c_void_p, c_int, c_int))
    def available(answer: Any, handle: int | None, blocks: int, threads: int) -> int:
        if handle not in known.functions:
            return INVALID_HANDLE
        if blocks <= 0:
            return INVALID_VALUE
        of = _properties()
        share = of.shared_memory_per_multiprocessor // blocks - of._reserved_shared_memory_per_block
        required(answer)[0] = min(_most_shared(), max(share, 0))
        return 0


def _blocks(threads: int, shared: int) -> int:
    """Return how many blocks a multiprocessor has at once, by their threads and shared memory alone."""
    of, warps = _properties(), -(-threads // 32)
    each = shared + of._reserved_shared_memory_per_block
    by_memory = of.shared_memory_per_multiprocessor // max(each, 1)
    by_threads = of.max_threads_per_multi_processor // (32 * warps)
    return int(min(by_threads, by_memory, of._max_blocks_per_multi_processor))


def _properties() -> Any:
    import torch

    return numbers.properties(torch.cuda.current_device())


def _most_shared() -> int:
    return int(_properties().shared_memory_per_block_optin)
