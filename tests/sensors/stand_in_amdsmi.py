"""Replaces the package amdsmi, which cannot be imported without AMD's driver, by one with two equal GPUs.

Keys, types and units of what its functions return are those of amdsmi 7.0.2's own documentation and source.
"""

from __future__ import annotations

import enum
from typing import Any

AmdSmiTemperatureType = enum.IntEnum("AmdSmiTemperatureType", "EDGE HOTSPOT JUNCTION VRAM")
AmdSmiTemperatureMetric = enum.IntEnum("AmdSmiTemperatureMetric", "CURRENT MAX CRITICAL")
AmdSmiClkType = enum.IntEnum("AmdSmiClkType", "SYS GFX MEM VCLK0")
SUPPORTED_CLOCKS = {"GFX": (1300, 2100), "MEM": (900, 1300)}


class AmdSmiException(Exception):
    """An error of the library."""


def amdsmi_init(flag: int = 2) -> None:
    """Open the library."""


def amdsmi_get_processor_handles() -> list[int]:
    return [0, 1]


def amdsmi_get_gpu_driver_info(processor_handle: int) -> dict[str, str]:
    return {"driver_name": "amdgpu", "driver_version": "6.12.12", "driver_date": "2015/01/01 00:00"}


def amdsmi_get_gpu_asic_info(processor_handle: int) -> dict[str, Any]:
    return {
        "market_name": "AMD Instinct MI300X",
        "num_compute_units": 304,
        "asic_serial": "0x29EF4E45E5C5D6D5",
    }


def amdsmi_get_gpu_device_uuid(processor_handle: int) -> str:
    return f"29ff74a1-0000-1000-80ef-4e45e5c5d6d{processor_handle}"


def amdsmi_get_gpu_board_info(processor_handle: int) -> dict[str, str]:
    return {"product_serial": "N/A", "product_name": "MI300X-O", "model_number": "102-G30211-00"}


def amdsmi_get_gpu_vbios_info(processor_handle: int) -> dict[str, str]:
    return {"name": "AMD MI300X_HW_SRIOV_CVS_1VF", "version": "022.040.003.042.000001"}


def amdsmi_get_gpu_device_bdf(processor_handle: int) -> str:
    return f"0000:{0x1B + processor_handle:02x}:00.0"


def amdsmi_get_pcie_info(processor_handle: int) -> dict[str, Any]:
    return {
        "pcie_static": {"max_pcie_width": 16, "max_pcie_speed": 32000, "pcie_interface_version": 5},
        "pcie_metric": {"pcie_width": 16, "pcie_speed": 16000},
    }


def amdsmi_get_gpu_pci_throughput(processor_handle: int) -> dict[str, int]:
    return {"sent": 4096000, "received": 2048000, "max_pkt_sz": 256}


def amdsmi_get_gpu_ecc_enabled(processor_handle: int) -> int:
    return 0b101


def amdsmi_topo_get_numa_node_number(processor_handle: int) -> int:
    return processor_handle


def amdsmi_get_gpu_vram_usage(processor_handle: int) -> dict[str, int]:
    return {"vram_total": 196592, "vram_used": 285}


def amdsmi_get_gpu_vram_info(processor_handle: int) -> dict[str, Any]:
    return {"vram_type": 5, "vram_bit_width": 8192}


def amdsmi_get_gpu_activity(processor_handle: int) -> dict[str, Any]:
    return {"gfx_activity": 88, "umc_activity": 31, "mm_activity": "N/A"}


def amdsmi_get_temp_metric(processor_handle: int, sensor_type: int, metric: int) -> int:
    return {AmdSmiTemperatureMetric.CURRENT: 43, AmdSmiTemperatureMetric.CRITICAL: 100}[metric]


def amdsmi_get_gpu_fan_speed(processor_handle: int, sensor_idx: int) -> int:
    raise AmdSmiException("Error code:\n\t2 | AMDSMI_STATUS_NOT_SUPPORTED - Feature not supported")


amdsmi_get_gpu_fan_speed_max = amdsmi_get_gpu_fan_speed


def amdsmi_get_power_info(processor_handle: int) -> dict[str, Any]:
    return {"current_socket_power": 139, "average_socket_power": "N/A", "power_limit": 750000000}


def amdsmi_get_power_cap_info(processor_handle: int) -> dict[str, int]:
    return {"power_cap": 750000000, "min_power_cap": 0, "max_power_cap": 750000000}


def amdsmi_get_energy_count(processor_handle: int) -> dict[str, Any]:
    return {"energy_accumulator": 4063921, "counter_resolution": 15.3, "timestamp": 5}


def amdsmi_get_clock_info(processor_handle: int, clock_type: int) -> dict[str, Any]:
    clock, highest = SUPPORTED_CLOCKS.get(AmdSmiClkType(clock_type).name, ("N/A", "N/A"))
    return {"clk": clock, "min_clk": 132, "max_clk": highest}


def amdsmi_get_gpu_process_list(processor_handle: int) -> list[dict[str, Any]]:
    return [{"pid": 4711, "name": "python3", "memory_usage": {"vram_mem": 1 << 33}, "mem": 1 << 33}]


def amdsmi_get_gpu_total_ecc_count(processor_handle: int) -> dict[str, int]:
    return {"correctable_count": 2, "uncorrectable_count": 0, "deferred_count": 0}
