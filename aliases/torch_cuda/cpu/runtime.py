"""The functions of the CUDA runtime that programs call through ``torch.cuda.cudart()``."""

from __future__ import annotations

from typing import Any

from morph.aliases.torch_cuda.cpu.memory import mem_get_info
from morph.aliases.torch_cuda.refusal import lacks
from morph.aliases.torch_cuda.runtime import Code, error_string


class Runtime:
    """The CUDA runtime as far as the CPU has it; other functions are refused by name."""

    cudaError = Code
    cudaGetErrorString = staticmethod(error_string)

    @staticmethod
    def cudaProfilerStart() -> Code:
        """Succeed: no CUDA profiler is attached that would have to be told."""
        return Code.success

    cudaProfilerStop = cudaProfilerStart

    @staticmethod
    def cudaHostRegister(ptr: int, size: int, flags: int) -> Code:
        """Succeed: all of the host's memory is in the CPU's reach."""
        return Code.success

    @staticmethod
    def cudaHostUnregister(ptr: int) -> Code:
        """Succeed, as ``cudaHostRegister`` did."""
        return Code.success

    @staticmethod
    def cudaMemGetInfo(device: int) -> tuple[int, int]:
        """Return free and total memory in bytes."""
        return mem_get_info(device)

    def __getattr__(self, name: str) -> Any:
        raise lacks(f"torch.cuda.cudart().{name}", "the CPU has no CUDA runtime")


_runtime = Runtime()


def cudart() -> Runtime:
    """Return the functions of the CUDA runtime that the CPU has."""
    return _runtime
