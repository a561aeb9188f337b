"""Replaces the package amdsmi, which cannot be imported without AMD's driver, by one with two equal GPUs.

Keys, types and units of what its functions return are those of amdsmi 7.0.2's own documentation and source.
"""

import enum
from collections.abc import Callable
from typing import Any

AmdSmiTemperatureType = enum.IntEnum("AmdSmiTemperatureType", "EDGE HOTSPOT JUNCTION VRAM")
AmdSmiTemperatureMetric = enum.IntEnum("AmdSmiTemperatureMetric", "CURRENT MAX CRITICAL")
AmdSmiClkType = enum.IntEnum("AmdSmiClkType", "SYS GFX MEM VCLK0")
CLOCKS = {AmdSmiClkType["GFX"]: (1300, 2100), AmdSmiClkType["MEM"]: (900, 1300)}
TEMPERATURES = {AmdSmiTemperatureMetric["CURRENT"]: 43, AmdSmiTemperatureMetric["CRITICAL"]: 100}


class AmdSmiException(Exception):
    """An error of the library."""


def _clock(processor: int, kind: int) -> dict[str, Any]:
    clock, highest = CLOCKS.get(AmdSmiClkType(kind), ("N/A", "N/A"))
    return {"clk": clock, "min_clk": 132, "max_clk": highest}


def _without_fan(processor: int, sensor: int) -> int:
    raise AmdSmiException("Error code:\n\t2 | AMDSMI_STATUS_NOT_SUPPORTED - Feature not supported")


_LINK = {"max_pcie_width": 16, "max_pcie_speed": 32000, "pcie_interface_version": 5}
_VBIOS = {"name": "AMD MI300X_HW_SRIOV_CVS_1VF", "version": "022.040.003.042.000001"}
_PROCESS = {"pid": 4711, "name": "python3", "memory_usage": {"vram_mem": 1 << 33}, "mem": 1 << 33}
ANSWERS: dict[str, tuple[int, Any]] = {
    "init": (0, None),
    "get_processor_handles": (0, [0, 1]),
    "get_gpu_driver_info": (1, {"driver_name": "amdgpu", "driver_version": "6.12.12"}),
    "get_gpu_asic_info": (1, {"market_name": "AMD Instinct MI300X", "num_compute_units": 304}),
    "get_gpu_device_uuid": (1, lambda processor: f"29ff74a1-0000-1000-80ef-4e45e5c5d6d{processor}"),
    "get_gpu_board_info": (1, {"product_serial": "N/A", "product_name": "MI300X-O"}),
    "get_gpu_vbios_info": (1, _VBIOS),
    "get_gpu_device_bdf": (1, lambda processor: f"0000:{0x1B + processor:02x}:00.0"),
    "get_pcie_info": (1, {"pcie_static": _LINK, "pcie_metric": {"pcie_width": 16, "pcie_speed": 16000}}),
    "get_gpu_pci_throughput": (1, {"sent": 4096000, "received": 2048000, "max_pkt_sz": 256}),
    "get_gpu_ecc_enabled": (1, 0b101),
    "topo_get_numa_node_number": (1, lambda processor: processor),
    "get_gpu_vram_usage": (1, {"vram_total": 196592, "vram_used": 285}),
    "get_gpu_vram_info": (1, {"vram_type": 5, "vram_bit_width": 8192}),
    "get_gpu_activity": (1, {"gfx_activity": 88, "umc_activity": 31, "mm_activity": "N/A"}),
    "get_temp_metric": (3, lambda processor, sensor, metric: TEMPERATURES[metric]),
    "get_gpu_fan_speed": (2, _without_fan),
    "get_gpu_fan_speed_max": (2, _without_fan),
    "get_power_info": (
        1,
        {"current_socket_power": 139, "average_socket_power": "N/A", "power_limit": 750000000},
    ),
    "get_power_cap_info": (1, {"power_cap": 750000000, "min_power_cap": 0, "max_power_cap": 750000000}),
    "get_energy_count": (1, {"energy_accumulator": 4063921, "counter_resolution": 15.3, "timestamp": 5}),
    "get_clock_info": (2, _clock),
    "get_gpu_process_list": (1, [_PROCESS]),
    "get_gpu_total_ecc_count": (1, {"correctable_count": 2, "uncorrectable_count": 0, "deferred_count": 0}),
}
"""By the functions' names without `amdsmi_`: how many arguments they need, and what they return."""


def _function(count: int, answer: Any) -> Callable[..., Any]:
    def function(*arguments: Any) -> Any:
        assert len(arguments) == count
        return answer(*arguments) if callable(answer) else answer

    return function


globals().update({f"amdsmi_{name}": _function(*row) for name, row in ANSWERS.items()})
