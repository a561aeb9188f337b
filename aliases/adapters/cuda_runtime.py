"""``torch.cuda.cudart()``: the CUDA runtime functions that torch binds, on the vendor's runtime."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from morph.backends import active
from morph.backends.refusal import lacks
from morph.base.status import Status


class CudaError(RuntimeError):
    """A runtime call failed.

    Args:
        code: The status of the call.
    """

    def __init__(self, code: int) -> None:
        super().__init__(f"{error_string(code)} ({int(code)})")


def check_error(res: int) -> None:
    """Raise if ``res``, the status of a runtime call, is not success.

    Raises:
        CudaError: If the call failed.
    """
    if res != Status.success:
        raise CudaError(res)


def error_string(code: int) -> str:
    """Return the meaning of a status code, if the vendor's Python package provides it."""
    if code == 0:
        return "no error"
    backend = active()
    return f"{backend.table.facts.title if backend else 'runtime'} error {int(code)}"


class Runtime:
    """The runtime's functions under CUDA's names, with CUDA's parameters.

    Args:
        vendor: The vendor's runtime module.
        prefix: The prefix of its function names, instead of ``cuda``.
        codes: The class of the status codes that its functions return.
        register_flags: Converts the flags of ``cudaHostRegister`` to the vendor's.
    """

    def __init__(
        self, vendor: Any, prefix: str, codes: Any = Status, register_flags: Callable[[int], int] = int
    ) -> None:
        self._vendor = vendor
        self._prefix = prefix
        self.cudaError = codes
        self._register_flags = register_flags

    def cudaGetErrorString(self, error: int) -> str:
        """Return the meaning of a status code."""
        return error_string(error)

    def cudaProfilerStart(self) -> Any:
        """Mark this point in the vendor's profile; an attached profiler decides itself what it collects."""
        _nvtx().mark("cudaProfilerStart")
        return self.cudaError.success

    def cudaProfilerStop(self) -> Any:
        """Mark this point in the vendor's profile."""
        _nvtx().mark("cudaProfilerStop")
        return self.cudaError.success

    def cudaHostRegister(self, ptr: int, size: int, flags: int) -> Any:
        """Pin ``size`` bytes of host memory at address ``ptr``."""
        return self._call("HostRegister", ptr, size, self._register_flags(flags))

    def cudaHostUnregister(self, ptr: int) -> Any:
        """Unpin the host memory at address ``ptr``."""
        return self._call("HostUnregister", ptr)

    def cudaStreamCreate(self, ptr: int) -> Any:
        """Create a stream and write its handle to address ``ptr``."""
        return self._call("StreamCreate", ptr)

    def cudaStreamDestroy(self, stream: int) -> Any:
        """Destroy the stream of handle ``stream``."""
        return self._call("StreamDestroy", stream)

    def cudaMemGetInfo(self, device: int) -> tuple[int, int]:
        """Return the free and the total memory of a device, in bytes."""
        free, total = torch.cuda.mem_get_info(device)
        return int(free), int(total)

    def _call(self, function: str, *args: int) -> Any:
        call = getattr(self._vendor, self._prefix + function, None)
        if call is None:
            reason = f"the vendor's package binds no {self._prefix}{function}"
            raise lacks(f"torch.cuda.cudart().cuda{function}", reason)
        code = call(*args)
        return code if isinstance(code, self.cudaError) else self.cudaError(code)


class NoRuntime(Runtime):
    """Profiler marks and memory sizes; functions that need a runtime raise an error that names them.

    Args:
        why: Returns why there is no such function, by its name without ``cuda``.
    """

    def __init__(self, why: Callable[[str], str]) -> None:
        super().__init__(vendor=None, prefix="")
        self._why = why

    def _call(self, function: str, *args: int) -> Any:
        raise lacks(f"torch.cuda.cudart().cuda{function}", self._why(function))


def _nvtx() -> Any:
    return torch.cuda.nvtx
