"""The choice of a backend: the requested one, else the first with an available device, else the CPU."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable

import torch

from morph import software
from morph.activation import building, configuration
from morph.backends import Backend, counting, environment, is_installed, resolve, visibility
from morph.backends.tables import table
from morph.backends.tables.rows import Facts
from morph.base import announcement
from morph.base.errors import AbsentBackendError, ActivationError
from morph.base.journal import Journal
from morph.software.settings import Size

CPU = "cpu"
Report = Callable[[str], None]


def nvidia_works() -> bool:
    """Return whether torch itself drives a GPU through ``torch.cuda``, so that morph is not needed."""
    if torch.version.cuda is None:
        return False
    if _gpus_of_driver() > 0:  # which says nothing of whether this torch can use them
        return bool(counting.in_child(lambda: int(torch.cuda.is_available())))
    return bool(torch.cuda.is_available())


def _gpus_of_driver() -> int:
    """Return how many GPUs NVML lists; a negative number if there is none. It leaves CUDA itself unused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return int(torch.cuda._device_count_nvml())


def requested(name: str | None) -> str | None:
    """Return the backend requested by ``name``, else by a variable or a configuration file, else None.

    Raises:
        ConfigurationError: If a file or a variable has an invalid value.
    """
    return name or configuration.effective().backend


def choose(name: str | None, journal: Journal, report: Report, size: Size | None = None) -> Backend:
    """Choose a backend whose device is available.

    Args:
        name: The requested backend; None tries each in the documented order, the CPU last.
        journal: Records the changes of the environment for the chosen vendor.
        report: Called with one line for each vendor package that is installed but fails to load.
        size: The size of the software device, if that is chosen.

    Raises:
        UnknownBackendError: If no table describes ``name``.
        AbsentBackendError: If ``name`` was requested and its package or device is absent.
        ActivationError: If a size is requested of real devices.
    """
    if visibility.hides_all():
        return _software(Backend(table.load(CPU)), journal, size)
    if name is not None:
        backend = Backend(table.load(name))
        environment.carry(backend.table, journal, report)
        absence = why_absent(backend, journal)
        if absence:
            raise AbsentBackendError(name, absence)
        return _software(backend, journal, size)
    return _software(_first_present(journal, report), journal, size)


def simulated(name: str | None, journal: Journal, report: Report, size: Size | None = None) -> Backend:
    """Start the simulated device of the backend called ``name`` and return that backend.

    Args:
        name: The backend to simulate.
        journal: Records every change.
        report: Called with one line if CUDA's mask has no meaning for the vendor.
        size: The size of the simulated device.

    Raises:
        UnknownBackendError: If no table describes ``name``.
        AbsentBackendError: If it cannot be simulated.
    """
    if visibility.hides_all():
        return _software(Backend(table.load(CPU)), journal, size)
    backend = Backend(table.load(name or CPU), simulated=True)
    if not backend.table.facts.surface:
        raise AbsentBackendError(backend.name, "only a device with a recorded surface can be simulated")
    environment.carry(backend.table, journal, report, software.look_at_environment)
    building.ensure(backend.table.facts, simulated=True)
    software.start(backend.name, size, journal)
    return backend


def _software(backend: Backend, journal: Journal, size: Size | None) -> Backend:
    if backend.table.facts.software:
        building.ensure(backend.table.facts)
        software.start(backend.name, size, journal)
    elif size and (size.devices or size.memory):
        title = backend.table.facts.title
        raise ActivationError(
            f"{title} has its own devices and memory; only software devices (--backend cpu) can be sized"
        )
    return backend


def _first_present(journal: Journal, report: Report) -> Backend:
    for problem in table.problems():
        report(problem)
    installed = (name for name in table.backend_names() if is_installed(table.facts(name)))
    for backend in map(Backend, map(table.load, installed)):
        attempt, said = Journal(), list[str]()
        environment.carry(backend.table, attempt, said.append)
        absence = why_absent(backend, attempt)
        if absence is None:
            journal.on_undo(attempt.undo)
            for line in said:
                report(line)
            return backend
        attempt.undo()
        report(f"{backend.table.facts.title} is skipped: {absence}")
    return Backend(table.load(CPU))


def why_absent(backend: Backend, journal: Journal) -> str | None:
    """Return why ``backend`` cannot be used on this machine, or None if its device is available.

    Loads the vendor's package, and survives any exception from it.

    Args:
        backend: The backend.
        journal: Records what the table's ``loader`` rebinds in the vendor's package.
    """
    if backend.table.facts.software:
        return None
    if not is_installed(backend.table.facts):
        return _not_installed(backend)
    try:
        _load(backend.table.facts, journal)
        return None if counting.count(backend) else f"{backend.module} sees no device"
    except counting.DeviceCountError as error:
        return f"{backend.vendor or backend.module} fails to load: {error}"
    except (Exception, SystemExit) as error:  # whatever it raises, `import torch` must survive it
        name, first = backend.vendor or backend.module, str(error).strip().partition("\n")[0]
        return f"{name} fails to load: {type(error).__name__}: {first}"


def _load(facts: Facts, journal: Journal) -> None:
    if facts.loader:
        resolve(facts.loader.replace(":", "."))(journal)
    elif facts.vendor:
        importlib.import_module(facts.vendor)


def _not_installed(backend: Backend) -> str:
    facts = backend.table.facts
    missing = f"this torch is not built for it (torch.version.{facts.built} is None)"
    if backend.vendor:
        missing = f"the package {backend.vendor} is not installed"
    return missing + _remedy(facts)


def _remedy(facts: Facts) -> str:
    """Return how the device's package is installed, and how to do without the device."""
    release = ".".join(torch.__version__.split(".")[:2])
    simulated = f"{announcement.launcher()} --rehearse {facts.name}" if facts.surface else ""
    installed = f" ({facts.install.replace('{torch}', release)})" if facts.install else ""
    return f"{installed}; {simulated} needs no device" if simulated else installed
