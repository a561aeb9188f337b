"""Functions of a C library that are written in Python."""

from __future__ import annotations

import ctypes
import functools
import sys
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")
Implementation = Callable[..., Any]
_LEAVING = 0.05  # seconds after which a callback has returned


class NullPointerError(ValueError):
    """An argument is a null pointer and may not be."""


class PerThread(Generic[T]):
    """What each thread has of its own.

    Between two calls Python forgets a thread of C's, and with it what a ``threading.local`` has of it.

    Args:
        make: Returns it for a new thread.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._made: dict[int, T] = {}

    def __call__(self) -> T:
        """Return this thread's."""
        thread = threading.get_ident()
        if thread not in self._made:
            self._made[thread] = self._make()
        return self._made[thread]


class Callbacks:
    """The functions of one library, by their exported names.

    Args:
        failed: Returns the library's code for an exception that a function raised; of a null pointer it is a
            :class:`NullPointerError`.
    """

    def __init__(self, failed: Callable[[str, Exception], int]) -> None:
        self._failed = failed
        self._functions: dict[str, Any] = {}

    def serve(
        self, *names: str, result: Any = ctypes.c_int, takes: tuple[Any, ...] = ()
    ) -> Callable[..., Any]:
        """Make the decorated function serve exported names; one that returns None has succeeded.

        Args:
            *names: The exported names.
            result: The C type of its result.
            takes: The C types of its arguments.
        """

        def register(function: Implementation) -> Implementation:
            for name in names:
                self._functions[name] = ctypes.CFUNCTYPE(result, *takes)(self._guarded(name, function))
            return function

        return register

    def serve_address(self, name: str, function: Any) -> None:
        """Make a C function serve an exported name, whose arguments it takes as they are."""
        self._functions[name] = function

    def address(self, name: str) -> int | None:
        """Return the address of the C function for a name, or None if there is none."""
        function = self._functions.get(name)
        return None if function is None else ctypes.cast(function, ctypes.c_void_p).value

    def __contains__(self, name: str) -> bool:
        return name in self._functions

    def _guarded(self, name: str, function: Implementation) -> Implementation:
        ending = sys.is_finalizing  # a program's destructors may call once Python's modules are gone

        @functools.wraps(function)
        def call(*arguments: Any) -> Any:
            if ending():
                return 0
            try:
                return function(*arguments) or 0
            except ValueError as error:
                null = str(error) == "NULL pointer access"  # by which ctypes says it
                return self._failed(name, NullPointerError("a null pointer") if null else error)
            except Exception as error:  # C code cannot receive it
                return self._failed(name, error)
            except BaseException as error:  # the user's Ctrl-C, or a test's time limit
                _raise_later(type(error))
                return self._failed(name, RuntimeError(f"it was interrupted: {error!r}"))

        return call


def _raise_later(kind: type[BaseException]) -> None:
    """Raise an exception in this thread a little later, when it has left the callback."""
    raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
    arguments = ctypes.c_ulong(threading.get_ident()), ctypes.py_object(kind)
    timer = threading.Timer(_LEAVING, raise_in, arguments)
    timer.daemon = True
    timer.start()


def required(argument: Any) -> Any:
    """Return an argument that may not be null.

    Raises:
        NullPointerError: If it is null.
    """
    if not argument:
        raise NullPointerError("a null pointer")
    return argument


_kept: dict[bytes, Any] = {}


def text(words: str) -> int:
    """Return the address of a C string that stays as long as the process."""
    encoded = words.encode()
    if encoded not in _kept:
        _kept[encoded] = ctypes.create_string_buffer(encoded)
    return ctypes.addressof(_kept[encoded])


def fill(buffer: int | None, size: int, words: str) -> bool:
    """Write a C string to a buffer; return whether it fits."""
    encoded = words.encode() + b"\0"
    if not buffer or size < len(encoded):
        return False
    ctypes.memmove(buffer, encoded, len(encoded))
    return True
