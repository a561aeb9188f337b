"""``-q``: everything about the devices, as text and as XML."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from morph.aliases.sensors.origin import Source
from morph.aliases.sensors.reading import UnknownReadingError
from morph.kernels.nvidia_smi.queries import written
from morph.kernels.nvidia_smi.readings import Subject, runtime_version

_WIDTH = 38  # of a label of the outermost level


class Entry(NamedTuple):
    """A line, or a section with lines.

    Attributes:
        label: What the text calls it.
        tag: What the XML calls it.
        content: Its value, or its entries.
        display: The word of ``-d`` that selects it.
    """

    label: str
    tag: str
    content: str | list[Entry]
    display: str = ""


def entries(subject: Subject) -> list[Entry]:
    """Return everything about a device."""

    def line(label: str, tag: str, reading: str, unit: str = "") -> Entry:
        value = subject.read(reading)
        text = "N/A" if value is None else f"{written(value)} {unit}".rstrip()
        return Entry(label, tag, text)

    def section(label: str, tag: str, *content: Entry, display: str = "") -> Entry:
        return Entry(label, tag, list(content), display)

    return [
        line("Product Name", "product_name", "name"),
        Entry("Product Brand", "product_brand", "Unknown"),
        Entry("Product Architecture", "product_architecture", "Unknown"),
        line("Display Mode", "display_mode", "disabled"),
        line("Display Active", "display_active", "disabled"),
        line("Persistence Mode", "persistence_mode", "enabled"),
        section(
            "MIG Mode",
            "mig_mode",
            line("Current", "current_mig", ""),
            line("Pending", "pending_mig", ""),
        ),
        Entry("MIG Devices", "mig_devices", "None"),
        line("Accounting Mode", "accounting_mode", "disabled"),
        line("Serial Number", "serial", "serial"),
        line("GPU UUID", "uuid", "uuid"),
        line("Minor Number", "minor_number", "index"),
        line("VBIOS Version", "vbios_version", "firmware"),
        section(
            "PCI",
            "pci",
            line("Bus", "pci_bus", "pci_bus"),
            line("Device", "pci_device", "pci_device"),
            line("Domain", "pci_domain", "pci_domain"),
            line("Device Id", "pci_device_id", "pci_device_id"),
            line("Bus Id", "pci_bus_id", "pci_bus_id"),
            line("Sub System Id", "pci_sub_system_id", "pci_sub_device_id"),
            section(
                "GPU Link Info",
                "pci_gpu_link_info",
                section(
                    "PCIe Generation",
                    "pcie_gen",
                    line("Max", "max_link_gen", "pcie_generation_max"),
                    line("Current", "current_link_gen", "pcie_generation"),
                ),
                section(
                    "Link Width",
                    "link_widths",
                    line("Max", "max_link_width", "pcie_width_max"),
                    line("Current", "current_link_width", "pcie_width"),
                ),
            ),
        ),
        line("Fan Speed", "fan_speed", "fan_speed", "%"),
        line("Performance State", "performance_state", "performance_state")._replace(display="PERFORMANCE"),
        section(
            "FB Memory Usage",
            "fb_memory_usage",
            line("Total", "total", "memory_total", "MiB"),
            line("Used", "used", "memory_used", "MiB"),
            line("Free", "free", "memory_free", "MiB"),
            display="MEMORY",
        ),
        line("Compute Mode", "compute_mode", "compute_mode")._replace(display="COMPUTE"),
        section(
            "Utilization",
            "utilization",
            line("Gpu", "gpu_util", "busy", "%"),
            line("Memory", "memory_util", "memory_busy", "%"),
            line("Encoder", "encoder_util", "encoder_busy", "%"),
            line("Decoder", "decoder_util", "decoder_busy", "%"),
            display="UTILIZATION",
        ),
        section(
            "ECC Mode",
            "ecc_mode",
            line("Current", "current_ecc", "ecc_mode"),
            line("Pending", "pending_ecc", "ecc_mode"),
            display="ECC",
        ),
        section(
            "Temperature",
            "temperature",
            line("GPU Current Temp", "gpu_temp", "temperature", "C"),
            line("GPU Shutdown Temp", "gpu_temp_max_threshold", "shutdown_temperature", "C"),
            line("GPU Slowdown Temp", "gpu_temp_slow_threshold", "temperature_limit", "C"),
            line("Memory Current Temp", "memory_temp", ""),
            display="TEMPERATURE",
        ),
        section(
            "GPU Power Readings",
            "gpu_power_readings",
            line("Power State", "power_state", "performance_state"),
            line("Power Draw", "power_draw", "power", "W"),
            line("Current Power Limit", "current_power_limit", "power_limit", "W"),
            line("Min Power Limit", "min_power_limit", "power_limit_min", "W"),
            line("Max Power Limit", "max_power_limit", "power_limit_max", "W"),
            display="POWER",
        ),
        section(
            "Clocks",
            "clocks",
            line("Graphics", "graphics_clock", "clock", "MHz"),
            line("SM", "sm_clock", "clock", "MHz"),
            line("Memory", "mem_clock", "memory_clock", "MHz"),
            line("Video", "video_clock", "video_clock", "MHz"),
            display="CLOCK",
        ),
        section(
            "Max Clocks",
            "max_clocks",
            line("Graphics", "graphics_clock", "max_clock", "MHz"),
            line("SM", "sm_clock", "max_clock", "MHz"),
            line("Memory", "mem_clock", "max_memory_clock", "MHz"),
            line("Video", "video_clock", "", "MHz"),
            display="CLOCK",
        ),
        _processes(subject),
    ]


def _processes(subject: Subject) -> Entry:
    found = subject.processes()
    if found is None:
        return Entry("Processes", "processes", "N/A", "PIDS")
    content = []
    for process in found:
        own = dataclasses.replace(subject, process=process)
        memory = own.read("process_memory")
        lines = [
            Entry("GPU instance ID", "gpu_instance_id", "N/A"),
            Entry("Compute instance ID", "compute_instance_id", "N/A"),
            Entry("Process ID", "pid", str(process.pid)),
            Entry("Type", "type", "C"),
            Entry("Name", "process_name", str(own.read("process_name"))),
            Entry("Used GPU Memory", "used_memory", "N/A" if memory is None else f"{memory} MiB"),
        ]
        content.append(Entry("Process", "process_info", lines))
    return Entry("Processes", "processes", content or "None", "PIDS")


def _head(source: Source, attached: int) -> list[Entry]:
    try:
        driver = source.driver_version()
    except UnknownReadingError:
        driver = "N/A"
    return [
        Entry("Timestamp", "timestamp", time.strftime("%a %b %e %H:%M:%S %Y")),
        Entry("Driver Version", "driver_version", driver),
        Entry("CUDA Version", "cuda_version", runtime_version(source) or "N/A"),
        Entry("Attached GPUs", "attached_gpus", str(attached)),
    ]


def as_text(source: Source, subjects: Sequence[Subject], attached: int, display: str = "") -> Iterator[str]:
    """Return the lines of ``-q``, or of the sections that ``-d`` names."""
    wanted = {word.strip().upper() for word in display.split(",") if word.strip()}
    yield "\n==============NVSMI LOG==============\n"
    *head, count = _head(source, attached)
    yield from _lines(head, 0)
    yield ""
    yield from _lines([count], 0)
    for subject in subjects:
        yield f"GPU {subject.read('pci_bus_id') or subject.index}"
        chosen = [each for each in entries(subject) if not wanted or each.display in wanted]
        yield from _lines(chosen, 1)
        yield ""


def as_xml(source: Source, subjects: Sequence[Subject], attached: int) -> Iterator[str]:
    """Return the lines of ``-q -x``."""
    yield '<?xml version="1.0" ?>'
    yield '<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">'
    yield "<nvidia_smi_log>"
    yield from _elements(_head(source, attached), 1)
    for subject in subjects:
        yield f'\t<gpu id="{subject.read("pci_bus_id") or subject.index}">'
        yield from _elements(entries(subject), 2)
        yield "\t</gpu>"
    yield "</nvidia_smi_log>"


def _lines(content: Sequence[Entry], level: int) -> Iterator[str]:
    for entry in content:
        label = " " * 4 * level + entry.label
        if isinstance(entry.content, str):
            yield f"{label:<{_WIDTH + 4}}: {entry.content}"
        else:
            yield label
            yield from _lines(entry.content, level + 1)


def _elements(content: Sequence[Entry], level: int) -> Iterator[str]:
    for entry in content:
        indent = "\t" * level
        if isinstance(entry.content, str):
            text = "" if (entry.tag, entry.content) == ("processes", "None") else _escaped(entry.content)
            yield f"{indent}<{entry.tag}>{text}</{entry.tag}>"
        else:
            yield f"{indent}<{entry.tag}>"
            yield from _elements(entry.content, level + 1)
            yield f"{indent}</{entry.tag}>"


def _escaped(text: str) -> str:
    for sign, name in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):  # xml.sax imports urllib, which is slow
        text = text.replace(sign, name)
    return text
