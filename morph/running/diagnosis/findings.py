"""The problems and possible problems of an environment, and their remedies."""

from __future__ import annotations

import enum
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from morph.activation import configuration
from morph.activation.configuration import DEFAULT
from morph.backends.tables import surfaces, table
from morph.backends.torch_release import why_too_old
from morph.backends.visibility import CUDA_VARIABLE, hides_all
from morph.base import hardware
from morph.base.errors import ConfigurationError
from morph.base.variables import BACKEND
from morph.running import environment
from morph.running.diagnosis.survey import Survey


class Severity(enum.IntEnum):
    """The severity of a finding; also the exit status of ``morph doctor``."""

    NOTE = 0
    WARNING = 1
    ERROR = 2


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem or note for a person.

    Attributes:
        severity: How bad it is.
        problem: The problem, in one line.
        remedy: The remedy, in one line.
    """

    severity: Severity
    problem: str
    remedy: str


def findings(found: Survey) -> list[Finding]:
    """Return the problems of the surveyed environment, the worst first."""
    usable = found.torch is not None and not why_too_old(found.torch)
    every = [finding for check in (_CHECKS if usable else _WITHOUT_TORCH) for finding in check(found)]
    return sorted(every, key=lambda finding: -finding.severity)


def _torch(found: Survey) -> Iterator[Finding]:
    if found.torch is None:
        yield Finding(
            Severity.ERROR, "torch is not installed", "install torch, and the vendor's package for it"
        )
    elif problem := why_too_old(found.torch):
        yield Finding(Severity.ERROR, problem, "install a newer torch, and the vendor's package for it")
    elif not _is_among(found.torch, _tested("torch_cuda")):
        tested = ", ".join(_tested("torch_cuda"))
        problem = f"torch {found.torch} is installed; morph was checked with {tested}"
        remedy = "nothing to do, if your program runs: what this torch lacks is skipped, and listed here"
        yield Finding(Severity.WARNING, problem, remedy)


def _tested(module: str) -> list[str]:
    """Return the releases of a module that morph was checked with, ``["2.7.1", ...]``, the oldest first."""
    names = (name.rpartition("-")[2] for name in surfaces.releases(module))
    return sorted(names, key=lambda name: [int(part) for part in name.split(".")[:2]])


def _is_among(version: str, releases: Iterable[str]) -> bool:
    """Return whether a version has the first two numbers of one of the releases."""
    return version.split(".")[:2] in [release.split(".")[:2] for release in releases]


def _choice(found: Survey) -> Iterator[Finding]:
    if found.activation.problem:
        problem = f"no backend can be used: {found.activation.problem}"
        yield Finding(Severity.ERROR, problem, _remedy_of_choice())
    if found.activation.seam == "python":
        problem = "the slower Python seam is used"
        if found.activation.seam_problem:
            problem += f": {found.activation.seam_problem}"
        remedy = "put that right and start again; until then calls that name a device are slower"
        yield Finding(Severity.WARNING, problem, remedy)


def _remedy_of_choice() -> str:
    try:
        place = next(each.place for each in configuration.effective().listed if each.key == "backend")
    except ConfigurationError as error:
        place = str(error).partition(": ")[0]
    if place == DEFAULT:
        return "put that right, and run morph doctor again"
    return f"{'unset' if place == BACKEND else 'change'} {place}, or repair the installation of that device"


def _misfits(found: Survey) -> Iterator[Finding]:
    """Find the changes that the installed torch or vendor has no place for."""
    for change, reason in found.activation.skipped.items():
        problem = f"{change} is not served with torch {found.torch}: {reason}"
        yield Finding(Severity.NOTE, problem, "nothing to do, if your program does not use it")


def _vendors(found: Survey) -> Iterator[Finding]:
    """Find vendors whose package is installed without an available device."""
    for presence in found.backends:
        if presence.installed and presence.absence and presence.distribution:
            remedy = (
                f"set up the driver and runtime of {presence.title}, or uninstall {presence.distribution}"
            )
            yield Finding(Severity.WARNING, f"{presence.name} cannot be used: {presence.absence}", remedy)


def _several(found: Survey) -> Iterator[Finding]:
    """Find devices of several vendors: the order chooses one, perhaps not the intended one."""
    names = [each.name for each in found.backends if each.supported and each.devices and not each.absence]
    if len(names) > 1 and not os.environ.get(BACKEND):
        problem = (
            f"devices of several vendors are present: {', '.join(names)}; {found.activation.backend} is used"
        )
        yield Finding(Severity.WARNING, problem, f"set {BACKEND} to the intended one")


def _devices(found: Survey) -> Iterator[Finding]:
    """Find devices of a driver that no installed package can use."""
    for presence in found.backends:
        facts = table.facts(presence.name)
        seen = hardware.present(facts.device_files, facts.pci_devices)
        if seen and not presence.installed:
            needed = presence.distribution or f"a torch built for {presence.title}"
            problem = f"{presence.title} has {seen[0]}, but {needed} is not installed"
            yield Finding(Severity.WARNING, problem, f"install {needed}")


def _releases(found: Survey) -> Iterator[Finding]:
    for presence in found.backends:
        version, module = presence.version, presence.distribution.replace("-", "_")
        supported = _tested(module) or ([presence.supported] if presence.supported else [])
        if version and supported and not _is_among(version, supported):
            installed = f"{presence.distribution} {version} is installed"
            problem = f"{installed}; morph was checked with {', '.join(supported)}"
            remedy = f"install one of these, or see morph surface for what differs in {version}"
            yield Finding(Severity.WARNING, problem, remedy)


def _packages(found: Survey) -> Iterator[Finding]:
    for package in found.packages:
        if package.installed and package.problem:
            problem = f"{package.name} {package.installed} is installed but cannot load: {package.problem}"
            yield Finding(Severity.NOTE, problem, "nothing to do: morph serves it")


def _variables(found: Survey) -> Iterator[Finding]:
    requested, devices = os.environ.get(BACKEND), os.environ.get(CUDA_VARIABLE)
    if hides_all() and requested not in (None, "", "cpu"):
        problem = f"{CUDA_VARIABLE}={devices!r} hides every device, but {BACKEND}={requested} asks for one"
        yield Finding(Severity.WARNING, problem, f"unset {CUDA_VARIABLE} or {BACKEND}")
    for name in table.backend_names():
        own = table.facts(name).visible_devices
        if own and own != CUDA_VARIABLE and devices and os.environ.get(own, devices) != devices:
            problem = f"{own}={os.environ[own]} and {CUDA_VARIABLE}={devices} differ; the vendor's own counts"
            yield Finding(Severity.WARNING, problem, f"unset one of {own} and {CUDA_VARIABLE}")


def _startup(found: Survey) -> Iterator[Finding]:
    """Find start-up files that are left over, changed, or writable by others."""
    for problem in environment.state().problems:
        yield Finding(Severity.WARNING, problem, "run morph enable, or morph disable, in this environment")


_WITHOUT_TORCH = (_torch, _devices, _startup)
_CHECKS = (
    _torch,
    _choice,
    _misfits,
    _vendors,
    _several,
    _devices,
    _releases,
    _packages,
    _variables,
    _startup,
)
