"""A GPU of Intel's, read through Level Zero Sysman."""

from __future__ import annotations

import operator
import uuid
from collections.abc import Callable, Iterator
from typing import Any

from morph.aliases.sensors.reading import Clock, Device, Memory, PciAddress, Process
from morph.aliases.sensors.sysman import Sysman

_UNKNOWN = ("", "unknown")
"""Sysman's text for an unknown value."""

_DOMAINS = {
    Clock.COMPUTE: "ZES_FREQ_DOMAIN_GPU",
    Clock.MEMORY: "ZES_FREQ_DOMAIN_MEMORY",
    Clock.VIDEO: "ZES_FREQ_DOMAIN_MEDIA",
}


def _text(field: str, what: str) -> Callable[[SysmanGpu], str]:
    """Return the method of a reading that is a text in the card's properties."""

    def read(card: SysmanGpu) -> str:
        text: str = operator.attrgetter(field)(card.properties).decode(errors="replace").strip()
        if text in _UNKNOWN:
            raise card.unknown(what)
        return text

    return read


class SysmanGpu(Device):
    """A card, or one of its tiles if torch.xpu exposes each tile as a device.

    Args:
        sysman: Level Zero Sysman.
        card: Sysman's handle for the card.
        tile: The number of the tile; None for the whole card.
    """

    why_unknown = "Level Zero Sysman does not report it through pyzes"
    name = _text("core.name", "name")
    serial = _text("serialNumber", "serial number")
    driver_version = _text("driverVersion", "version of the driver")

    def __init__(self, sysman: Sysman, card: Any, tile: int | None = None) -> None:
        self._sysman = sysman
        self._card = card
        self._tile = tile

    @property
    def properties(self) -> Any:
        """The card's ``zes_device_properties_t``."""
        return self._sysman.read("zesDeviceGetProperties", "zes_device_properties_t", self._card)

    def uuid(self) -> str:
        """Return the card's UUID."""
        return str(uuid.UUID(bytes=bytes(self.properties.core.uuid.id)))

    def pci(self) -> PciAddress:
        """Return the address on the PCI bus."""
        place = self._pci.address
        return PciAddress(place.domain, place.bus, place.device, place.function)

    def pcie_link(self) -> tuple[int, int]:
        """Return the current generation and width of the link."""
        return self._link(self._sysman.read("zesDevicePciGetState", "zes_pci_state_t", self._card).speed)

    def max_pcie_link(self) -> tuple[int, int]:
        """Return the highest generation and width of the link."""
        return self._link(self._pci.maxSpeed)

    def pcie_throughput(self, *, sent: bool) -> int:
        """Return the rate per second at which the card has sent or received since the last call."""
        counter = "txCounter" if sent else "rxCounter"
        grown, _ = self._sysman.rate("zesDevicePciGetStats", "zes_pci_stats_t", self._card, counter)
        return round(grown * 1e6 / 1024)

    def cores(self) -> int:
        """Return the number of execution units."""
        core = self.properties.core
        return self._known(core.numSlices * core.numSubslicesPerSlice * core.numEUsPerSubslice, "cores")

    def memory(self) -> Memory:
        """Return the device memory in use by all processes."""
        states = [
            self._sysman.read("zesMemoryGetState", "zes_mem_state_t", module) for module, _ in self._modules()
        ]
        if not states:
            raise self.unknown("memory")
        total = sum(state.size for state in states)
        return Memory(total, total - sum(state.free for state in states))

    def memory_bus_width(self) -> int:
        """Return the width of the memory bus."""
        return self._known(
            sum(max(0, properties.busWidth) for _, properties in self._modules()), "memory bus"
        )

    def memory_busy(self) -> int:
        """Return the percentage of the memory's bandwidth that was in use since the last call."""
        shares = []
        for module, _ in self._modules():
            grown, now = self._sysman.rate(
                "zesMemoryGetBandwidth", "zes_mem_bandwidth_t", module, "readCounter", "writeCounter"
            )
            shares.append(grown * 1e6 / self._known(now.maxBandwidth, "bandwidth of the memory"))
        if not shares:
            raise self.unknown("utilization of the memory")
        return min(100, round(100 * sum(shares) / len(shares)))

    def busy(self) -> int:
        """Return the percentage of time in which the engines were busy since the last call."""
        engine = self._first("EngineGroups", "zes_engine_handle_t", "Engine", "ZES_ENGINE_GROUP_ALL")
        share, _ = self._sysman.rate("zesEngineGetActivity", "zes_engine_stats_t", engine, "activeTime")
        return min(100, round(100 * share))

    def temperature(self) -> int:
        """Return the GPU's temperature."""
        sensor = self._first("TemperatureSensors", "zes_temp_handle_t", "Temperature", "ZES_TEMP_SENSORS_GPU")
        celsius: float = self._sysman.read("zesTemperatureGetState", "c_double", sensor).value
        return round(celsius)

    def power(self) -> int:
        """Return the mean power since the last call."""
        watts, _ = self._sysman.rate(
            "zesPowerGetEnergyCounter", "zes_power_energy_counter_t", self._power, "energy"
        )
        return round(watts * 1000)

    def energy(self) -> int:
        """Return the energy, which Sysman counts in microjoules."""
        state = self._sysman.read("zesPowerGetEnergyCounter", "zes_power_energy_counter_t", self._power)
        return int(state.energy) // 1000

    def power_limit(self) -> int:
        """Return the sustained power limit."""
        sustained = self._sysman.library.ZES_POWER_LEVEL_SUSTAINED
        limits = self._sysman.listed("zesPowerGetLimitsExt", "zes_power_limit_ext_desc_t", self._power)
        found = [each.limit for each in limits if each.level == sustained]
        return self._known(found[0] if found else -1, "limit of the power")

    def power_limits(self) -> tuple[int, int]:
        """Return the range of the limit."""
        state = self._sysman.read("zesPowerGetProperties", "zes_power_properties_t", self._power)
        return state.minLimit, self._known(state.maxLimit, "range of the power's limit")

    def clock(self, clock: Clock) -> int:
        """Return a clock."""
        domain, _ = self._frequency(clock)
        megahertz: float = self._sysman.read("zesFrequencyGetState", "zes_freq_state_t", domain).actual
        if megahertz < 0:
            raise self.unknown(f"{clock.value} clock")
        return round(megahertz)

    def max_clock(self, clock: Clock) -> int:
        """Return the highest value of a clock."""
        _, properties = self._frequency(clock)
        return self._known(round(properties.max), f"highest {clock.value} clock")

    def processes(self) -> list[Process]:
        """Return the processes on the card."""
        found = self._sysman.listed("zesDeviceProcessesGetState", "zes_process_state_t", self._card)
        return [Process(each.processId, each.memSize) for each in found]

    def ecc_enabled(self) -> bool:
        """Return whether the memory corrects errors (ECC)."""
        state = self._sysman.read("zesDeviceGetEccState", "zes_device_ecc_properties_t", self._card)
        if state.currentState == self._sysman.library.ZES_DEVICE_ECC_STATE_UNAVAILABLE:
            raise self.unknown("error correction")
        return bool(state.currentState == self._sysman.library.ZES_DEVICE_ECC_STATE_ENABLED)

    @property
    def _pci(self) -> Any:
        return self._sysman.read("zesDevicePciGetProperties", "zes_pci_properties_t", self._card)

    @property
    def _power(self) -> Any:
        domains = self._sysman.listed("zesDeviceEnumPowerDomains", "zes_pwr_handle_t", self._card)
        if not domains:
            raise self.unknown("power")
        return domains[0]  # the card's

    def _modules(self) -> Iterator[tuple[Any, Any]]:
        on_device = self._sysman.library.ZES_MEM_LOC_DEVICE
        for module, properties in self._own("MemoryModules", "zes_mem_handle_t", "Memory"):
            if properties.location == on_device:
                yield module, properties

    def _frequency(self, clock: Clock) -> tuple[Any, Any]:
        wanted = getattr(self._sysman.library, _DOMAINS[clock], None)
        for domain, properties in self._own("FrequencyDomains", "zes_freq_handle_t", "Frequency"):
            if properties.type == wanted:
                return domain, properties
        raise self.unknown(f"{clock.value} clock")

    def _first(self, part: str, kind: str, title: str, wanted: str) -> Any:
        for handle, properties in self._own(part, kind, title):
            if properties.type == getattr(self._sysman.library, wanted):
                return handle
        raise self.unknown(title.lower())

    def _own(self, part: str, kind: str, title: str) -> Iterator[tuple[Any, Any]]:
        """Yield the card's parts of one kind, or the tile's if each tile has its own."""
        every = list(self._sysman.parts(self._card, part, kind, f"zes{title}GetProperties"))
        mine = [each for each in every if each[1].onSubdevice and each[1].subdeviceId == self._tile]
        yield from mine or [each for each in every if self._tile is None or not each[1].onSubdevice]

    def _link(self, speed: Any) -> tuple[int, int]:
        return self._known(speed.gen, "PCIe link"), self._known(speed.width, "PCIe link")

    def _known(self, value: int, what: str) -> int:
        """Return ``value``, or raise if it is negative or zero, which means that it is unknown to Sysman."""
        if value <= 0:
            raise self.unknown(what)
        return int(value)
