"""NVML's errors: one class per code, with nvidia-ml-py's texts."""

from __future__ import annotations

import string
from typing import Any, NoReturn

from morph.base.errors import add_note

from .constants import CONSTANTS

_TEXTS = {
    "UNINITIALIZED": "Uninitialized",
    "INVALID_ARGUMENT": "Invalid Argument",
    "NOT_SUPPORTED": "Not Supported",
    "NO_PERMISSION": "Insufficient Permissions",
    "ALREADY_INITIALIZED": "Already Initialized",
    "NOT_FOUND": "Not Found",
    "INSUFFICIENT_SIZE": "Insufficient Size",
    "INSUFFICIENT_POWER": "Insufficient External Power",
    "DRIVER_NOT_LOADED": "Driver Not Loaded",
    "TIMEOUT": "Timeout",
    "IRQ_ISSUE": "Interrupt Request Issue",
    "LIBRARY_NOT_FOUND": "NVML Shared Library Not Found",
    "FUNCTION_NOT_FOUND": "Function Not Found",
    "CORRUPTED_INFOROM": "Corrupted infoROM",
    "GPU_IS_LOST": "GPU is lost",
    "RESET_REQUIRED": "GPU requires restart",
    "OPERATING_SYSTEM": "The operating system has blocked the request.",
    "LIB_RM_VERSION_MISMATCH": "RM has detected an NVML/RM version mismatch.",
    "MEMORY": "Insufficient Memory",
    "UNKNOWN": "Unknown Error",
}
_CODES = {
    name.removeprefix("NVML_ERROR_"): code
    for name, code in CONSTANTS.items()
    if name.startswith("NVML_ERROR_")
}


class NVMLLibraryMismatchError(Exception):
    """An unversioned function was called that the library lacks."""


class NVMLError(Exception):
    """An NVML error; ``NVMLError(code)`` creates an instance of the code's class.

    Attributes:
        value: The code, one of ``NVML_ERROR_...``.
    """

    _valClassMapping: dict[int, type[NVMLError]] = {}
    _errcode_to_string = {_CODES[name]: text for name, text in _TEXTS.items()}

    value: int

    def __new__(cls, value: int) -> NVMLError:
        """Create an error of the class for the code ``value``."""
        kind = cls._valClassMapping.get(value, cls) if cls is NVMLError else cls
        error = Exception.__new__(kind)
        error.value = value
        return error

    def __str__(self) -> str:
        return self._errcode_to_string.get(self.value, f"NVML Error with code {self.value}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NVMLError) and self.value == other.value

    def __hash__(self) -> int:
        return hash(self.value)

    def __reduce__(self) -> tuple[Any, ...]:
        return NVMLError, (self.value,), {"__notes__": getattr(self, "__notes__", [])}


def nvmlExceptionClass(nvmlErrorCode: int) -> type[NVMLError]:
    """Return the error class for a code.

    Raises:
        ValueError: If there is no such code.
    """
    if nvmlErrorCode not in NVMLError._valClassMapping:
        raise ValueError(f"nvmlErrorCode {nvmlErrorCode} is not valid")
    return NVMLError._valClassMapping[nvmlErrorCode]


def nvmlErrorString(result: int) -> str:
    """Return the message for a code."""
    return "The operation was successful" if result == 0 else str(NVMLError(result))


def _nvmlCheckReturn(ret: int) -> int:
    """Return a code if it means success, else raise its error."""
    if ret != 0:
        raise NVMLError(ret)
    return ret


def fail(code: str, reason: str = "") -> NoReturn:
    """Raise the error ``NVML_ERROR_<code>`` with the reason as a note, which leaves its message unchanged."""
    error = NVMLError(_CODES[code])
    if reason:
        add_note(error, f"morph: {reason}")
    raise error


def _class_of(name: str, code: int) -> type[NVMLError]:
    def new(cls: type[NVMLError], *arguments: Any) -> NVMLError:
        return NVMLError.__new__(cls, code)

    title = "NVMLError_" + string.capwords(name, "_").replace("_", "")
    return type(
        title, (NVMLError,), {"__new__": new, "__module__": __package__, "__doc__": f"{NVMLError(code)}."}
    )


CLASSES = {error.__name__: error for error in (_class_of(name, code) for name, code in _CODES.items())}
"""The error classes by name."""

NVMLError._valClassMapping.update(
    (_CODES[name], error) for name, error in zip(_CODES, CLASSES.values(), strict=True)
)
