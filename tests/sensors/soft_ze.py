"""A software Level Zero loader: the functions that pyzes calls, for one card with two tiles and one without.

Each is a C function pointer, so that pyzes's arguments pass through ctypes as with the real loader.
"""

import ctypes
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

TILED, PLAIN = 0x100, 0x200
"""The handles of the cards; those of their parts are derived from them."""


class Loader:
    """The object that pyzes uses as the shared library.

    Args:
        pyzes: The module, for the layouts of its structures.
    """

    def __init__(self, pyzes: ModuleType) -> None:
        self._pyzes = pyzes
        self._microseconds = 0

    def fill(self) -> None:
        """Give this loader one attribute per function that pyzes calls."""
        lists = {
            "zesDriverGet": (lambda owner: [1], 0),
            "zesDeviceGet": (lambda owner: [TILED, PLAIN], 1),
            "zesDeviceEnumMemoryModules": (lambda owner: [owner + 1, owner + 2], 1),
            "zesDeviceEnumPowerDomains": (lambda owner: [owner + 3] if owner == PLAIN else [], 1),
            "zesDeviceEnumFrequencyDomains": (lambda owner: [owner + 4], 1),
            "zesDeviceEnumEngineGroups": (lambda owner: [owner + 5], 1),
            "zesDeviceEnumTemperatureSensors": (lambda owner: [owner + 6], 1),
        }
        for name, (listed, owners) in lists.items():
            setattr(self, name, self._listing(listed, owners))
        for name, kind, fields in self._told():
            setattr(self, name, self._filling(kind, fields))
        self.zesInit = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint)(lambda flags: 0)
        self.zesDeviceProcessesGetState = self._structures(
            "zes_process_state_t", processId=4711, memSize=1 << 30
        )
        self.zesPowerGetLimitsExt = self._structures("zes_power_limit_ext_desc_t", level=1, limit=300_000)
        self.zesTemperatureGetState = self._filling("c_double", lambda handle: {"value": 51.4})

    def _told(self) -> Iterator[tuple[str, str, Callable[[int], dict[str, Any]]]]:
        yield "zesDeviceGetProperties", "zes_device_properties_t", _card
        yield "zesDevicePciGetProperties", "zes_pci_properties_t", _pci
        yield "zesDevicePciGetState", "zes_pci_state_t", lambda handle: {"speed.gen": 4, "speed.width": 16}
        yield (
            "zesDevicePciGetStats",
            "zes_pci_stats_t",
            lambda handle: self._counted(txCounter=1.024, rxCounter=2.048),
        )
        yield "zesDeviceGetEccState", "zes_device_ecc_properties_t", lambda handle: {"currentState": 1}
        yield "zesMemoryGetProperties", "zes_mem_properties_t", _memory
        yield "zesMemoryGetState", "zes_mem_state_t", lambda handle: {"free": 5 << 30, "size": 16 << 30}
        yield "zesMemoryGetBandwidth", "zes_mem_bandwidth_t", self._bandwidth
        yield (
            "zesPowerGetProperties",
            "zes_power_properties_t",
            lambda handle: {"minLimit": 1, "maxLimit": 300_000},
        )
        yield (
            "zesPowerGetEnergyCounter",
            "zes_power_energy_counter_t",
            lambda handle: self._counted(energy=95.3),
        )
        yield "zesEngineGetProperties", "zes_engine_properties_t", lambda handle: {"type": 0}
        yield "zesEngineGetActivity", "zes_engine_stats_t", lambda handle: self._counted(activeTime=0.73)
        yield "zesTemperatureGetProperties", "zes_temp_properties_t", lambda handle: {"type": 1}
        yield "zesFrequencyGetProperties", "zes_freq_properties_t", lambda handle: {"type": 0, "max": 1550.0}
        yield "zesFrequencyGetState", "zes_freq_state_t", lambda handle: {"actual": 1400.2}

    def _bandwidth(self, handle: int) -> dict[str, Any]:
        return {**self._counted(readCounter=1e4, writeCounter=5e3), "maxBandwidth": 100_000_000_000}

    def _counted(self, **rates: float) -> dict[str, Any]:
        """Return counters that have grown at a rate per microsecond since the last call, a second ago."""
        self._microseconds += 1_000_000
        told = {name: round(rate * self._microseconds) for name, rate in rates.items()}
        return {**told, "timestamp": self._microseconds}

    def _filling(self, kind: str, fields: Callable[[int], dict[str, Any]]) -> Any:
        structure = getattr(self._pyzes, kind)

        def fill(handle: int | None, place: Any) -> int:
            for path, value in fields(handle or 0).items():
                *owners, last = path.split(".")
                owner = place.contents
                for each in owners:
                    owner = getattr(owner, each)
                setattr(owner, last, value)
            return 0

        return ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(structure))(fill)

    def _listing(self, listed: Callable[[int], list[int]], owners: int) -> Any:
        def fill(*arguments: Any) -> int:
            *owner, count, places = arguments
            found = listed(*(owner or [0]))
            count.contents.value = len(found)
            for place, handle in enumerate(found if places else ()):
                places[place] = handle
            return 0

        pointers = ctypes.POINTER(ctypes.c_uint32), ctypes.POINTER(ctypes.c_void_p)
        return ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * owners, *pointers)(fill)

    def _structures(self, kind: str, **fields: Any) -> Any:
        structure = getattr(self._pyzes, kind)

        def fill(owner: int, count: Any, places: Any) -> int:
            count.contents.value = 1
            for name, value in fields.items() if places else ():
                assert places[0].stype, "Level Zero wants to be told which structure it fills"
                setattr(places[0], name, value)
            return 0

        pointers = ctypes.POINTER(ctypes.c_uint32), ctypes.POINTER(structure)
        return ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, *pointers)(fill)


def _card(handle: int) -> dict[str, Any]:
    return {
        "core.name": b"Intel(R) Data Center GPU Max 1550",
        "core.uuid.id": (ctypes.c_ubyte * 16)(*range(16)),
        "core.numSlices": 1,
        "core.numSubslicesPerSlice": 64,
        "core.numEUsPerSubslice": 8,
        "numSubdevices": 2 if handle == TILED else 0,
        "serialNumber": b"unknown",
        "driverVersion": b"1.6.31294",
    }


def _pci(handle: int) -> dict[str, Any]:
    return {"address.domain": 0, "address.bus": handle >> 8, "maxSpeed.gen": 5, "maxSpeed.width": -1}


def _memory(handle: int) -> dict[str, Any]:
    """Return the properties of a memory module: of the first or second tile, or of the card or the host."""
    place = handle & 0xFF
    tiled = handle >> 8 == TILED >> 8
    return {
        "location": 1 if tiled or place == 1 else 0,
        "onSubdevice": int(tiled),
        "subdeviceId": place - 1,
        "busWidth": 1024,
    }
