"""A survey of this environment: the installed packages, the devices, and morph's choice."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import importlib_metadata

from morph import __version__
from morph.backends import is_installed
from morph.backends.tables import package as packages
from morph.backends.tables import table
from morph.backends.torch_release import why_too_old
from morph.base.errors import MorphError
from morph.running.diagnosis.processes import ask, run
from morph.software import settings, visible


@dataclass(frozen=True, slots=True)
class Device:
    """One device of the backend that would be chosen.

    Attributes:
        name: The vendor's name of the device.
        memory: Total bytes.
    """

    name: str
    memory: int


@dataclass(frozen=True, slots=True)
class Presence:
    """The availability of a backend on this machine.

    Attributes:
        name: The backend's name.
        title: The name for people.
        distribution: The vendor's distribution; empty where torch itself has the device.
        version: The installed version of that distribution; None if it is not installed.
        supported: The releases that morph was checked with.
        installed: Whether the vendor's package, or a torch built for the device, is installed.
        devices: The number of devices.
        absence: Why it cannot be used, or None if it can.
    """

    name: str
    title: str
    distribution: str
    version: str | None
    supported: str
    installed: bool
    devices: int
    absence: str | None

    @property
    def package(self) -> str:
        """The vendor's package and its version, in words."""
        return f"{self.distribution} {self.version or ''}".rstrip() or "torch itself"

    @property
    def found(self) -> str:
        """The number of devices, or why there is none."""
        return str(self.devices) if self.absence is None else f"none: {self.absence}"


@dataclass(frozen=True, slots=True)
class Activation:
    """The choice of an activation on this machine.

    Attributes:
        backend: The backend's name; ``"cuda"`` where morph stays out; None if nothing can be chosen.
        seam: ``"native"`` or ``"python"``.
        seam_problem: Why it is not the native one, if that could not be built.
        problem: Why nothing can be chosen, or None.
        devices: The devices that ``torch.cuda`` would show.
        skipped: What the installed torch or vendor has no place for, each with the reason.
        libraries: morph's C++ parts that were loaded, each as its path.
        torch: The version that torch gives itself, which tells its build; None if it was not loaded.
    """

    backend: str | None = None
    seam: str | None = None
    problem: str | None = None
    devices: tuple[Device, ...] = ()
    seam_problem: str | None = None
    skipped: Mapping[str, str] = field(default_factory=dict)
    libraries: tuple[str, ...] = ()
    torch: str | None = None


@dataclass(frozen=True, slots=True)
class Package:
    """A package that morph serves where it cannot be installed.

    Attributes:
        name: Its import name.
        version: The version that morph answers for.
        installed: The version of a real installation, or None.
        problem: Why the real one cannot load, or None.
    """

    name: str
    version: str
    installed: str | None
    problem: str | None

    @property
    def origin(self) -> str:
        """Where an import of it comes from, in words."""
        if self.installed and not self.problem:
            return f"{self.installed} is installed and used"
        broken = f" ({self.installed} is installed but cannot load)" if self.installed else ""
        return f"served by morph as {self.version}{broken}"


@dataclass(frozen=True, slots=True)
class Survey:
    """The survey.

    Attributes:
        morph: morph's version.
        python: The interpreter's version.
        platform: The operating system and machine.
        torch: torch's version, or None if it is not installed.
        backends: Each backend, in the order of the automatic choice.
        activation: The choice of an activation.
        reason: The reason for it, in one clause.
        packages: The packages that morph serves.
    """

    morph: str
    python: str
    platform: str
    torch: str | None
    backends: tuple[Presence, ...]
    activation: Activation
    reason: str
    packages: tuple[Package, ...]


def survey(progress: Callable[[str], object] = lambda title: None) -> Survey:
    """Survey this environment; each vendor's package is loaded in a separate process.

    Args:
        progress: Called with the name of each step.
    """
    names = table.backend_names()
    with ThreadPoolExecutor(max_workers=2) as pool:
        chosen = pool.submit(_activation, _too_old())
        backends = tuple(pool.map(lambda name: _presence(name, progress), names))
    activation = chosen.result()
    return Survey(
        morph=__version__,
        python=platform.python_version(),
        platform=f"{platform.system()} {platform.machine()}",
        torch=activation.torch or version_of("torch"),
        backends=backends,
        activation=activation,
        reason=_reason(activation),
        packages=tuple(map(_package, packages.names())),
    )


def _presence(name: str, progress: Callable[[str], object]) -> Presence:
    facts = table.facts(name)
    progress(facts.title)
    found = _look(facts)
    return Presence(
        name=name,
        title=facts.title,
        distribution=facts.distribution,
        version=version_of(facts.distribution) if facts.distribution else None,
        supported=facts.releases,
        installed=is_installed(facts),
        devices=found["devices"],
        absence=found["absence"],
    )


def _look(facts: table.Facts) -> dict[str, Any]:
    if too_old := _too_old():
        return {"devices": 0, "absence": too_old}
    if facts.software:
        return _look_at_software(facts)
    return ask(facts.name) if is_installed(facts) else {"devices": 0, "absence": _not_installed(facts)}


def _look_at_software(facts: table.Facts) -> dict[str, Any]:
    try:
        devices = settings.settle(facts, settings.Size()).devices
    except MorphError as error:
        return {"devices": 0, "absence": str(error)}
    assert devices is not None
    return {"devices": len(visible.indices(facts, devices)), "absence": None}


def _not_installed(facts: table.Facts) -> str:
    return (
        f"{facts.distribution} is not installed" if facts.distribution else "this torch is not built for it"
    )


def _too_old() -> str | None:
    version = version_of("torch")
    return why_too_old(version) if version else None


def _activation(problem: str | None) -> Activation:
    found: dict[str, Any] = {"absence": problem} if problem else ask()
    problem = found.pop("absence") or found.pop("problem", None)
    devices = tuple(Device(**each) for each in found.pop("devices", None) or ())
    return Activation(**found, problem=problem, devices=devices)


def _reason(activation: Activation) -> str:
    if activation.problem:
        return activation.problem
    if activation.backend == "cuda":
        return "a working NVIDIA GPU is present, and morph stays out"
    if os.environ.get("CUDA_VISIBLE_DEVICES") == "":
        return "CUDA_VISIBLE_DEVICES hides every device"
    if os.environ.get("MORPH_BACKEND"):
        return "MORPH_BACKEND selects it"
    if activation.backend == "cpu":
        return "no accelerator's device is available"
    return "the first backend whose device is there"


def _package(name: str) -> Package:
    package = packages.load(name)
    installed = version_of(package.distributions[0])
    return Package(name, package.version, installed, _why_broken(package) if installed else None)


def _why_broken(package: packages.Package) -> str | None:
    """Return why the real ``package`` cannot load, tried in a separate process."""
    if package.library:
        what = f"import ctypes; ctypes.CDLL({package.library!r})"
    else:
        what = f"import {', '.join(package.probe or package.import_names[:1])}"
    done = run("-c", what)
    return done.stderr.strip().rpartition("\n")[2] if done.returncode else None


def version_of(distribution: str) -> str | None:
    """Return the version of the real installation, even where morph serves the package."""
    wanted = importlib_metadata.DistributionFinder.Context(name=distribution)  # type: ignore[no-untyped-call]
    found = next(iter(importlib_metadata.MetadataPathFinder.find_distributions(wanted)), None)
    return found.version if found else None
