"""Opening and closing the library, which is reference-counted, and the handles of its devices."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib
import inspect
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from morph import backends
from morph.aliases import sensors
from morph.aliases.sensors.origin import Source
from morph.aliases.sensors.reading import Device, UnknownReadingError
from morph.base.errors import MorphError

from .errors import fail
from .structures import STRUCTURES, TYPES

Function = TypeVar("Function", bound=Callable[..., Any])

_lock = threading.RLock()
_opened = 0
_source: Source | None = None
_handles: list[Any] = []


def nvmlInit() -> None:
    """Open the library, as ``nvmlInitWithFlags(0)`` does."""
    nvmlInitWithFlags(0)


def nvmlInitWithFlags(flags: int) -> None:
    """Open the library; every opening needs one closing.

    Args:
        flags: Flags ``NVML_INIT_FLAG_...``; ignored.

    Raises:
        NVMLError_LibraryNotFound: If the vendor's library or tool is absent; a note says what to install.
    """
    global _opened, _source
    if backends.active() is None:
        importlib.import_module("torch")  # makes morph choose a backend
    with _lock:
        if _opened == 0:
            try:
                _source = sensors.source()
            except MorphError as error:
                fail("LIBRARY_NOT_FOUND", str(error))
            _handles[:] = [_new_handle() for _ in _source.devices()]
        _opened += 1


def nvmlShutdown() -> None:
    """Close the library, once for every opening.

    Raises:
        NVMLError_Uninitialized: If it is not open.
    """
    global _opened
    with _lock:
        source()
        _opened -= 1


def source() -> Source:
    """Return the source of readings.

    Raises:
        NVMLError_Uninitialized: If the library is not open.
    """
    if _opened == 0 or _source is None:
        fail("UNINITIALIZED")
    return _source


def devices() -> Sequence[Device]:
    """Return the devices in the order of their indices."""
    return source().devices()


def handle_of(index: int) -> Any:
    """Return the handle of a device.

    Raises:
        NVMLError_InvalidArgument: If there is no such index.
    """
    source()
    if not isinstance(index, int) or not 0 <= index < len(_handles):
        fail("INVALID_ARGUMENT", f"there is no device {index!r}; there are {len(_handles)}")
    return _handles[index]


def index_of(handle: Any) -> int:
    """Return the index of a handle's device.

    Raises:
        NVMLError_InvalidArgument: If it is not a handle.
    """
    source()
    for index, known in enumerate(_handles):
        if _address(known) == _address(handle) is not None:
            return index
    fail("INVALID_ARGUMENT", f"{handle!r} is not a device's handle")


def torch_index_of(handle: Any) -> int:
    """Return torch's index of a handle's device.

    Raises:
        NVMLError_NotSupported: If an environment variable hides the device from torch.
    """
    cuda = importlib.import_module("torch").cuda
    place = index_of(handle)
    for index in range(cuda.device_count()):
        if source().position(index) == place:
            return index
    fail("NOT_SUPPORTED", f"torch does not see device {place}")


def of_device(function: Function) -> Function:
    """Call ``function`` with the device instead of its handle, which is the first parameter.

    A missing reading becomes ``NVMLError_NotSupported``, with the reason as a note.
    """
    first = next(iter(inspect.signature(function).parameters))

    @functools.wraps(function)
    def answer(*arguments: Any, **named: Any) -> Any:
        if arguments:
            arguments = (devices()[index_of(arguments[0])], *arguments[1:])
        elif first in named:
            named[first] = devices()[index_of(named[first])]
        with unsupported_if_unknown():
            return function(*arguments, **named)

    return answer  # type: ignore[return-value]  # it has the function's signature


@contextlib.contextmanager
def unsupported_if_unknown() -> Iterator[None]:
    """Convert the error of a missing reading to ``NVMLError_NotSupported``, with the reason as a note."""
    try:
        yield
    except UnknownReadingError as error:
        fail("NOT_SUPPORTED", str(error))


def text(value: str | bytes) -> str:
    """Return text that a program passed as ``str`` or ``bytes``."""
    return value.decode() if isinstance(value, bytes) else value


def _LoadNvmlLibrary() -> None:
    """Do nothing: there is no NVML to load."""


def _new_handle() -> Any:
    return STRUCTURES["c_nvmlDevice_t"](STRUCTURES["struct_c_nvmlDevice_t"]())


def _address(handle: Any) -> int | None:
    if not isinstance(handle, STRUCTURES["c_nvmlDevice_t"]):
        return None
    address: int | None = ctypes.cast(handle, TYPES["c_void_p"]).value
    return address
