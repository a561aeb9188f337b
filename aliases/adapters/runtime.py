"""``torch.cuda.cudart()``: the functions of the CUDA runtime that torch binds, on the vendor's runtime."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import torch

from morph.backends import active, vendor_module
from morph.backends.refusal import lacks


class Code(int):
    """A status code of the runtime, ``cudaError`` to programs; 0 is ``cudaError.success``."""

    success: ClassVar[Code]

    @property
    def name(self) -> str:
        """``"success"``, or the code."""
        return "success" if self == 0 else f"error_{int(self)}"

    def __repr__(self) -> str:
        return f"<cudaError.{self.name}: {int(self)}>"


Code.success = Code(0)


class CudaError(RuntimeError):
    """A call of the runtime did not succeed.

    Args:
        code: The status of the call.
    """

    def __init__(self, code: int) -> None:
        super().__init__(f"{error_string(code)} ({int(code)})")


def check_error(res: int) -> None:
    """Raise if ``res``, the status of a call of the runtime, is not success.

    Raises:
        CudaError: If it is not.
    """
    if res != Code.success:
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
        prefix: The prefix of its functions' names in place of ``cuda``.
        codes: The class of the statuses that its functions return.
        register_flags: Turns the flags of ``cudaHostRegister`` into the vendor's.
    """

    def __init__(
        self, vendor: Any, prefix: str, codes: Any = Code, register_flags: Callable[[int], int] = int
    ) -> None:
        self._vendor = vendor
        self._prefix = prefix
        self.cudaError = codes
        self._register_flags = register_flags

    def cudaGetErrorString(self, error: int) -> str:
        """Return what a status code means."""
        return error_string(error)

    def cudaProfilerStart(self) -> Any:
        """Mark the place in the vendor's profile; an attached profiler decides itself what it collects."""
        _nvtx().mark("cudaProfilerStart")
        return self.cudaError.success

    def cudaProfilerStop(self) -> Any:
        """Mark the place in the vendor's profile."""
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
        free, total = vendor_module().mem_get_info(device)
        return int(free), int(total)

    def _call(self, function: str, *args: int) -> Any:
        call = getattr(self._vendor, self._prefix + function, None)
        if call is None:
            reason = f"the vendor's package binds no {self._prefix}{function}"
            raise lacks(f"torch.cuda.cudart().cuda{function}", reason)
        code = call(*args)
        return code if isinstance(code, self.cudaError) else self.cudaError(code)


def _nvtx() -> Any:
    return torch.cuda.nvtx
