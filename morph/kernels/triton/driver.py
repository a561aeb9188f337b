"""The driver that triton asks about the device, and loads and launches kernels with."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import torch
from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase

from morph.base import private
from morph.kernels.triton.launching import Launcher
from morph.software import settings
from morph.software.machine import started

WARP = 32
REGISTERS = 32  # of a thread; programs divide by it
MANY_THREADS = 1 << 20


class Utilities:
    """What triton calls on a driver's ``utils``."""

    def load_binary(
        self, name: str, library: bytes, shared: int, device: int
    ) -> tuple[object, Any, int, int, int]:
        """Load a kernel.

        Args:
            name: The kernel's name.
            library: Its shared library.
            shared: Not used.
            device: Not used.

        Returns:
            The library, its function, the registers of a thread, its spills, and the most threads of a block.
        """
        if not library.startswith(b"\x7fELF"):
            return None, None, REGISTERS, 0, MANY_THREADS
        # the loader takes a file of a known name for the library that it has loaded from there
        with private.scratch("morph-triton-") as folder:
            private.write(folder / "kernel.so", library)
            loaded = ctypes.CDLL(str(folder / "kernel.so"))
        function: Any = loaded.launch_kernel
        function.restype = ctypes.c_char_p
        function.argtypes = [ctypes.c_char_p, *[ctypes.c_int] * 4, ctypes.c_void_p, ctypes.c_size_t]
        if not settings.IN_TRITON.isdisjoint(settings.sanitizers()):
            _let_check(loaded, function)
        return loaded, function, REGISTERS, 0, MANY_THREADS

    def unload_module(self, module: object) -> None:
        """Keep the library: other threads may be running in it."""

    def get_device_properties(self, device: int) -> dict[str, int]:
        """Return what kernels are tuned by."""
        properties: Any = torch.cuda.get_device_properties(device)
        return {
            "max_shared_mem": properties.shared_memory_per_block_optin,
            "multiprocessor_count": properties.multi_processor_count,
            "max_num_regs": properties.regs_per_multiprocessor,
            "warpSize": WARP,
            "sm_clock_rate": properties.clock_rate,
            "mem_clock_rate": properties.memory_clock_rate,
            "mem_bus_width": properties.memory_bus_width,
        }


def _let_check(loaded: Any, function: Any) -> None:
    native, wanted = started().native, settings.sanitizers()
    ctypes.c_size_t.in_dll(loaded, "locate_memory").value = native.locator()
    ctypes.c_size_t.in_dll(loaded, "is_unwritten").value = native.unwritten()
    for check in settings.IN_TRITON:
        ctypes.c_bool.in_dll(loaded, f"checks_{check}").value = check in wanted
    function.missed_allocation = ctypes.c_size_t.in_dll(loaded, "missed_allocation")


class HostDriver(DriverBase):  # type: ignore[misc]
    """The driver of the software device."""

    def __init__(self) -> None:
        super().__init__()
        self.utils = Utilities()
        self.launcher_cls = Launcher
        self.get_current_device = torch.cuda.current_device
        self.set_current_device = torch.cuda.set_device
        self.get_device_capability = torch.cuda.get_device_capability

    @staticmethod
    def is_active() -> bool:
        """Return whether there is a device."""
        return torch.cuda.is_available()

    def map_python_to_cpp_type(self, ty: str) -> str:
        """Return the C++ type of a kernel's argument; nothing is generated from it."""
        return ty

    def get_current_target(self) -> GPUTarget:
        """Return CUDA's target with the device's capability."""
        major, minor = torch.cuda.get_device_capability()
        return GPUTarget("cuda", major * 10 + minor, WARP)

    def get_current_stream(self, device: int | None = None) -> int:
        """Return the number of the current stream."""
        return int(torch.cuda.current_stream(device).cuda_stream)

    def get_active_torch_device(self) -> torch.device:
        """Return the current device."""
        return torch.device("cuda", torch.cuda.current_device())

    def get_device_interface(self) -> Any:
        """Return the module that events and streams come from."""
        return torch.cuda

    def get_benchmarker(self) -> Callable[..., Any]:
        """Return what measures a kernel."""
        from triton.testing import do_bench

        return do_bench  # type: ignore[no-any-return]

    def get_empty_cache_for_benchmark(self) -> torch.Tensor:
        """Return what is cleared before a measurement; a host's cache is not worth clearing."""
        return torch.empty(1, dtype=torch.int, device="cuda")

    def clear_cache(self, cache: torch.Tensor) -> None:
        """Clear what ``get_empty_cache_for_benchmark`` returned."""
        cache.zero_()
