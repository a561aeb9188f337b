"""The simulated device under ``torch.compile``: what Dynamo asks of a device."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from morph.base.journal import Journal
from morph.finders.finder import on_import
from morph.software.machine import Machine

INTERFACE = "torch._dynamo.device_interface"
TYPES = ("device", "Event", "Stream")
DEVICES = (
    "current_device",
    "set_device",
    "device_count",
    "is_available",
    "synchronize",
    "get_device_properties",
)
STREAMS = ("stream", "current_stream", "set_stream")
OTHERS = ("memory_allocated", "is_bf16_supported")
CONSTANT = ("current_device", "device_count", "is_available", "is_initialized")


def register(module: ModuleType, machine: Machine) -> None:
    """Make Dynamo know the device, at once or as soon as it is imported."""
    for name in CONSTANT:
        if hasattr(module, name):
            # what torch.compiler.assume_constant_result does, which imports Dynamo
            getattr(module, name)._dynamo_marked_constant = True

    def describe(dynamo: Any) -> None:
        interface = _interface(module, dynamo)
        for name in (
            machine.device_type,
            *(f"{machine.device_type}:{index}" for index in range(machine.count)),
        ):
            dynamo.register_interface_for_device(name, interface)

    on_import(INTERFACE, describe, Journal())  # never undone, as the device is not


def _interface(module: ModuleType, dynamo: Any) -> type:
    body: dict[str, Any] = {name: getattr(module, name) for name in TYPES}
    for name in (*DEVICES, *STREAMS, *OTHERS):
        body[name] = staticmethod(getattr(module, name))
    body["is_triton_capable"] = staticmethod(lambda device=None: False)
    body["get_compute_capability"] = staticmethod(lambda device=None: 0)
    body["get_raw_stream"] = staticmethod(lambda device_index: module.current_stream(device_index).stream_id)
    worker = {name: body[name] for name in ("set_device", "current_device", "get_device_properties")}
    body["Worker"] = type("Worker", (dynamo.DeviceInterface.Worker,), dict(worker))
    return type("Interface", (dynamo.DeviceInterface,), body)
