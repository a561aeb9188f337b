"""The decorators and the lock that nvidia-ml-py defines in addition to NVML's names."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

from .errors import CLASSES, NVMLLibraryMismatchError

libLoadLock = threading.Lock()


def convertStrBytes(func: Callable[..., Any]) -> Callable[..., Any]:
    """Encode the text arguments of ``func`` as bytes, and decode a result in bytes to text."""

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        given = [argument.encode() if isinstance(argument, str) else argument for argument in args]
        result = func(*given, **kwargs)
        return result.decode() if isinstance(result, bytes) else result

    return wrapper


def throwOnVersionMismatch(func: Callable[..., Any]) -> Callable[..., Any]:
    """Make ``func`` raise ``NVMLLibraryMismatchError`` if the library lacks the function."""

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        try:
            return func(*args, **kwargs)
        except CLASSES["NVMLError_FunctionNotFound"] as error:
            raise NVMLLibraryMismatchError(f"use {func.__name__}_v2, or a library that fits") from error

    return wrapper
