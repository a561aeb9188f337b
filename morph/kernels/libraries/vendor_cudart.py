"""CUDA's runtime by a vendor's own: each function calls its counterpart in the vendor's library."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from morph.base.announcement import report
from morph.kernels.libraries.callbacks import Callbacks

if TYPE_CHECKING:
    from morph.backends.tables.library import Vendor
    from morph.kernels.libraries.loading import Loaded

NOT_READY, UNKNOWN = 600, 999
STATUSES = {"busy": lambda status: status != 0, "ready": lambda status: status == 0}

Argument = Callable[[tuple[int, ...]], Any]


def add(calls: Callbacks, library: Loaded, vendor: Vendor) -> None:
    """Serve the functions that the vendor has a counterpart of; a release that lacks one refuses it.

    Args:
        calls: Receives them.
        library: The library of CUDA's that they are of.
        vendor: The vendor's part of its table.
    """
    try:
        theirs = ctypes.CDLL(vendor.library)
    except OSError as error:
        report(f"{library.file}: {vendor.library} cannot be loaded ({error}); its functions are refused")
        return
    for name, words in vendor.calls.items():
        counterpart, _, listed = words.partition("(")
        if not hasattr(theirs, counterpart):
            continue
        function = theirs[counterpart]
        if listed:
            _add(calls, name, function, listed.rstrip(")"), library, vendor)
        else:
            calls.serve_address(name, function)


def _add(calls: Callbacks, name: str, function: Any, listed: str, library: Loaded, vendor: Vendor) -> None:
    words = [word.strip() for word in listed.split(",")] if listed else []
    arguments = [_argument(word) for word in words]
    wanted = next((STATUSES[word] for word in words if word in STATUSES), None)
    count = max((int(word.rstrip("i")) for word in words if word[0].isdigit()), default=0)

    @calls.serve(name, takes=(ctypes.c_uint64,) * count)
    def call(*given: int) -> int:
        status = ctypes.c_uint64()
        passed = [make(given) if make else ctypes.byref(status) for make in arguments]
        code = function(*passed)
        if code:
            return library.noted(_translated(code, function.__name__, library, vendor))
        return NOT_READY if wanted is not None and wanted(status.value & 0xFFFFFFFF) else 0


def _argument(word: str) -> Argument | None:
    """Return what gives an argument of the vendor's function; None is a place for a result."""
    if word.startswith("="):
        return lambda given: ctypes.c_uint64(int(word[1:]))
    if not word[0].isdigit():
        return None
    index, kind = int(re.sub(r"\D", "", word)) - 1, ctypes.c_int32 if word.endswith("i") else ctypes.c_uint64
    return lambda given: kind(given[index] & 0xFFFFFFFF if kind is ctypes.c_int32 else given[index])


def _translated(code: int, function: str, library: Loaded, vendor: Vendor) -> int:
    """Return CUDA's code for the vendor's."""
    known = vendor.errors.get(str(code), UNKNOWN)
    library.say(known, f"{function} of {vendor.library} returned {code}")
    return known
