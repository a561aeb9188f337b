"""NVIDIA's compiler at run time: each function returns a tuple that begins with its error code."""

from __future__ import annotations

import ctypes
from typing import Any

from .._morph import calls, handles, properties

nvrtcResult = calls.enumeration("nvrtcResult", __name__)
nvrtcProgram = handles.handle("nvrtcProgram", __name__)

_library = calls.Library(
    properties.FILE.replace("cudart", "nvrtc"), "nvrtc", nvrtcResult, {"program": nvrtcProgram}, __name__
)
globals().update(_library.functions())


def nvrtcGetErrorString(result: Any) -> tuple[Any, bytes]:
    """Return the name of an error code."""
    function = _library.library.nvrtcGetErrorString
    function.restype = ctypes.c_char_p
    return nvrtcResult(0), bytes(function(int(result)))


def nvrtcGetSupportedArchs() -> tuple[Any, list[int]]:
    """Return the compute capabilities that code can be asked for."""
    count = ctypes.c_int()
    _library.library.nvrtcGetNumSupportedArchs(ctypes.byref(count))
    found = (ctypes.c_int * count.value)()
    return nvrtcResult(_library.library.nvrtcGetSupportedArchs(found)), list(found)
