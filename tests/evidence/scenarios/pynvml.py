"""Every name of pynvml: constants are read, structures created, errors raised, functions called."""

import contextlib
import ctypes
import inspect
from collections.abc import Iterator
from typing import Any

import pynvml

from morph.backends.tables import package

ARGUMENTS: dict[str, Any] = {
    "index": 0,
    "pid": 1,
    "version": 0,
    "sensor": 0,
    "fieldIds": [1],
    "cpuSetSize": 2,
    "nodeSetSize": 2,
    "uuid": "GPU-none",
    "pciBusId": "0000:01:00.0",
    "serial": "none",
    "struct": pynvml.c_nvmlMemory_t(),
    "obj": pynvml.nvmlFriendlyObject({"total": 1, "free": 1, "used": 0}),
    "model": pynvml.c_nvmlMemory_t(),
    "dictionary": {},
    "name": "nvmlDeviceGetName",
    "func": len,
    "nvmlErrorCode": 1,
}


def run() -> Iterator[str]:
    """Uses every name, and yields those that returned or were refused."""
    pynvml.nvmlInit()
    handle = pynvml.nvmlDeviceGetHandleByIndex(0)
    last = ("nvmlShutdown",)
    own = [name.partition(".")[2] for name in package.load("pynvml").names if name.count(".") == 1]
    names = vars(pynvml)
    for name in sorted(name for name in own if name in names and name not in last):
        _use(names[name], handle)
        yield f"pynvml.{name}"
    with contextlib.suppress(pynvml.NVMLError_Uninitialized):
        while True:  # it was opened several times
            pynvml.nvmlShutdown()
    yield "pynvml.nvmlShutdown"


def _use(found: Any, handle: Any) -> None:
    if inspect.isfunction(found):
        _call(found, handle)
    elif isinstance(found, type) and issubclass(found, (ctypes.Structure, ctypes.Union)):
        assert bytes(found.from_buffer(bytearray(ctypes.sizeof(found)))) == bytes(ctypes.sizeof(found))
    elif isinstance(found, type) and issubclass(found, pynvml.NVMLError) and found is not pynvml.NVMLError:
        assert isinstance(pynvml.NVMLError(found().value), found)  # type: ignore[call-arg]


def _call(function: Any, handle: Any) -> None:
    """Calls a function, which returns or raises an NVML error."""
    parameters = inspect.signature(function).parameters.values()
    needed = [each.name for each in parameters if each.default is each.empty]
    handles = dict.fromkeys(("handle", "device", "device1", "device2"), handle)
    with contextlib.suppress(pynvml.NVMLError):
        function(*({**ARGUMENTS, **handles}.get(each, 0) for each in needed))
