"""AMD's readings, from AMD SMI's Python package, which is part of ROCm and on PyPI."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from morph.aliases.sensors.origin import Source
from morph.aliases.sensors.reading import Clock, Device, Memory, PciAddress, Process, UnknownReadingError

Value = TypeVar("Value")
_MEGABYTE = 1 << 20
_DOES_NOT_TELL = "AMD SMI does not report it"
_GENERATIONS = {2500: 1, 5000: 2, 8000: 3, 16000: 4, 32000: 5, 64000: 6}
"""PCIe generations by megatransfers per second."""


def open_source() -> Source:
    """Return the source.

    Raises:
        UnknownReadingError: If the package or its library is absent.
    """
    try:
        library = importlib.import_module("amdsmi")
        library.amdsmi_init()
    except Exception as error:  # without its library the package may raise any exception
        reason = f"amdsmi cannot be used ({type(error).__name__}: {error}); pip install 'torch-morph[rocm]'"
        raise UnknownReadingError(reason) from error
    return AmdSmi(library)


class AmdSmi(Source):
    """AMD SMI.

    Args:
        library: The module amdsmi, initialised.
    """

    title = "amdsmi"
    why_unknown = _DOES_NOT_TELL

    def __init__(self, library: Any) -> None:
        self.library = library

    def devices(self) -> Sequence[AmdGpu]:
        """Return the GPUs."""
        return [AmdGpu(self.library, handle) for handle in self.library.amdsmi_get_processor_handles()]

    def driver_version(self) -> str:
        """Return the version of the amdgpu driver."""
        first = self.devices()[0]
        return str(first.ask("amdsmi_get_gpu_driver_info", key="driver_version"))


def _fact(kind: Callable[[Any], Value], function: str, key: str | None = None) -> Callable[[AmdGpu], Value]:
    """Return the method that reports what an AMD SMI function returns, or one ``key`` of it."""
    return lambda gpu: kind(gpu.ask(function, key=key))


def _milli(micro: Any) -> int:
    return int(micro) // 1000


class AmdGpu(Device):
    """An AMD GPU.

    Args:
        library: The module amdsmi.
        handle: The package's handle for the GPU.
    """

    why_unknown = _DOES_NOT_TELL
    name = _fact(str, "amdsmi_get_gpu_asic_info", "market_name")
    uuid = _fact(str, "amdsmi_get_gpu_device_uuid")
    serial = _fact(str, "amdsmi_get_gpu_board_info", "product_serial")
    firmware = _fact(str, "amdsmi_get_gpu_vbios_info", "version")
    numa_node = _fact(int, "amdsmi_topo_get_numa_node_number")
    cores = _fact(int, "amdsmi_get_gpu_asic_info", "num_compute_units")
    memory_bus_width = _fact(int, "amdsmi_get_gpu_vram_info", "vram_bit_width")
    busy = _fact(int, "amdsmi_get_gpu_activity", "gfx_activity")
    memory_busy = _fact(int, "amdsmi_get_gpu_activity", "umc_activity")
    pci = _fact(PciAddress.parse, "amdsmi_get_gpu_device_bdf")
    power_limit = _fact(_milli, "amdsmi_get_power_cap_info", "power_cap")
    ecc_enabled = _fact(bool, "amdsmi_get_gpu_ecc_enabled")  # a bit for each block

    def __init__(self, library: Any, handle: Any) -> None:
        self._library = library
        self._handle = handle

    def ask(self, function: str, *arguments: Any, key: str | None = None) -> Any:
        """Return the result of an AMD SMI function, or one ``key`` of it.

        Raises:
            UnknownReadingError: If AMD SMI does not report it.
        """
        try:
            answer = getattr(self._library, function)(self._handle, *arguments)
        except self._library.AmdSmiException as error:
            raise UnknownReadingError(f"{function}: {' '.join(str(error).split())}") from error
        value = answer if key is None else answer[key]
        if value == "N/A":
            raise self.unknown(key or function)
        return value

    def pcie_link(self) -> tuple[int, int]:
        """Return the current generation and width of the link."""
        metric = self.ask("amdsmi_get_pcie_info", key="pcie_metric")
        return self._link(metric["pcie_speed"], metric["pcie_width"])

    def max_pcie_link(self) -> tuple[int, int]:
        """Return the highest generation and width of the link."""
        static = self.ask("amdsmi_get_pcie_info", key="pcie_static")
        return self._link(static["max_pcie_speed"], static["max_pcie_width"])

    def pcie_throughput(self, *, sent: bool) -> int:
        """Return what the GPU sends or receives in the second during which AMD SMI counts."""
        return int(self.ask("amdsmi_get_gpu_pci_throughput", key="sent" if sent else "received")) // 1024

    def memory(self) -> Memory:
        """Return the video memory, which is reported in megabytes."""
        usage = self.ask("amdsmi_get_gpu_vram_usage")
        return Memory(usage["vram_total"] * _MEGABYTE, usage["vram_used"] * _MEGABYTE)

    def temperature(self) -> int:
        """Return the temperature of the hottest junction."""
        return self._temperature("CURRENT")

    def temperature_limit(self) -> int:
        """Return the critical temperature of the junction."""
        return self._temperature("CRITICAL")

    def fan_speed(self) -> int:
        """Return the fan's speed, as a percentage of its highest."""
        highest = self.ask("amdsmi_get_gpu_fan_speed_max", 0)
        return int(round(100 * self.ask("amdsmi_get_gpu_fan_speed", 0) / highest))

    def power(self) -> int:
        """Return the socket's power, which is reported in watts: the current power, else the average."""
        info = self.ask("amdsmi_get_power_info")
        watts = [
            info[key]
            for key in ("current_socket_power", "average_socket_power")
            if info[key] not in ("N/A", 0)
        ]
        if not watts:
            raise self.unknown("power")
        return int(watts[0]) * 1000

    def power_limits(self) -> tuple[int, int]:
        """Return the range of the limit."""
        caps = self.ask("amdsmi_get_power_cap_info")
        return _milli(caps["min_power_cap"]), _milli(caps["max_power_cap"])

    def energy(self) -> int:
        """Return the energy, which is counted in units of several microjoules."""
        count = self.ask("amdsmi_get_energy_count")
        return int(round(count["energy_accumulator"] * count["counter_resolution"] / 1000))

    def clock(self, clock: Clock) -> int:
        """Return a clock."""
        return self._clock(clock, "clk")

    def max_clock(self, clock: Clock) -> int:
        """Return the highest value of a clock."""
        return self._clock(clock, "max_clk")

    def processes(self) -> list[Process]:
        """Return the processes on the GPU."""
        processes = self.ask("amdsmi_get_gpu_process_list")
        return [Process(each["pid"], each["memory_usage"]["vram_mem"]) for each in processes]

    def ecc_errors(self, *, corrected: bool) -> int:
        """Return the number of memory errors."""
        key = "correctable_count" if corrected else "uncorrectable_count"
        return int(self.ask("amdsmi_get_gpu_total_ecc_count", key=key))

    def _temperature(self, metric: str) -> int:
        junction = self._library.AmdSmiTemperatureType.JUNCTION
        return int(
            self.ask("amdsmi_get_temp_metric", junction, self._library.AmdSmiTemperatureMetric[metric])
        )

    def _clock(self, clock: Clock, key: str) -> int:
        names = {Clock.COMPUTE: "GFX", Clock.MEMORY: "MEM", Clock.VIDEO: "VCLK0"}
        return int(self.ask("amdsmi_get_clock_info", self._library.AmdSmiClkType[names[clock]], key=key))

    def _link(self, speed: Any, width: Any) -> tuple[int, int]:
        if speed not in _GENERATIONS or width == "N/A":
            raise self.unknown("PCIe link")
        return _GENERATIONS[speed], int(width)
