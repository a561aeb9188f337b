"""Activation: one journal of everything that is changed, so that all of it can be undone."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING

from morph.errors import ActivationError
from morph.finders.finder import finder
from morph.finders.packages import packages
from morph.journal import Journal

if TYPE_CHECKING:
    from morph.backends import Backend
    from morph.seam import Seam

ANNOUNCED = "MORPH_ANNOUNCED"


@dataclass(frozen=True, slots=True)
class Status:
    """What morph is doing in this process.

    Attributes:
        active: Whether CUDA names are served by a backend.
        backend: The backend's name; ``"cuda"`` where a working NVIDIA GPU makes morph stay out; None before.
        device_type: torch's name of the device type that "cuda" means.
        simulated: Whether the simulated device stands in for the hardware.
        seam: ``"native"`` or ``"python"``: what makes CUDA another name of the device below Python; None
            where CUDA is the device's own name.
        noops: How often each name that does nothing on this backend was called.
        caught: How often each operator reached the seam with a CUDA device.
    """

    active: bool
    backend: str | None = None
    device_type: str | None = None
    simulated: bool = False
    seam: str | None = None
    noops: dict[str, int] | None = None
    caught: dict[str, int] | None = None


@dataclass(frozen=True, slots=True)
class _Activation:
    journal: Journal
    backend: Backend
    seam: Seam | None
    noops: Callable[[], dict[str, int]]


_lock = threading.RLock()
_current: _Activation | None = None
_stays_out = False
_armed: Callable[[ModuleType], None] | None = None
Observer = Callable[[str], None]


def activate(
    backend: str | None = None, *, simulated: bool = False, observer: Observer | None = None
) -> Status:
    """Make CUDA names mean ``backend``'s device in this process; imports torch.

    Activating again with the same backend, or with none given, changes nothing.

    Args:
        backend: The backend's name; None takes ``MORPH_BACKEND``, else the first whose device is there.
        simulated: Run on the simulated device, with exactly the names that the vendor's package has.
        observer: Called with each CUDA name that is asked for.

    Returns:
        What is active now.

    Raises:
        UnknownBackendError: If there is no such backend.
        AbsentBackendError: If its package or its device is absent.
        ActivationError: If another backend is active already.
    """
    _disarm()
    packages.hide()
    try:
        import torch  # noqa: F401  (outside the lock: an import that arms us may hold torch's import lock)
    finally:
        packages.show()
    with _lock:
        if _current is not None:
            return _already_active(backend, _current.backend)
        _begin(backend, simulated, observer)
        return status()


def arm(backend: str | None = None, *, simulated: bool = False, observer: Observer | None = None) -> None:
    """Activate as soon as the program has imported torch, at once if it has; imports nothing now."""
    global _armed
    if "torch" in sys.modules:
        activate(backend, simulated=simulated, observer=observer)
        return
    packages.install()
    with _lock:
        if _armed is None and _current is None:
            _armed = _Arming(backend, simulated, observer)
            finder.watch("torch", _armed)
            finder.prepare("torch", _armed.prepare)


def deactivate() -> None:
    """Undo the activation: every object is restored by identity. Without one, nothing happens."""
    global _current, _stays_out
    _disarm()
    with _lock:
        current, _current, _stays_out = _current, None, False
        packages.uninstall()
        if current is not None:
            current.journal.undo()


@contextmanager
def activated(backend: str | None = None, *, simulated: bool = False) -> Iterator[Status]:
    """Activate for the length of a ``with`` block; an activation that was there before stays."""
    was_active = _current is not None
    try:
        yield activate(backend, simulated=simulated)
    finally:
        if not was_active:
            deactivate()


def status() -> Status:
    """Return what morph is doing in this process."""
    current = _current
    if current is None:
        return Status(active=False, backend="cuda" if _stays_out else None)
    backend = current.backend
    return Status(
        active=True,
        backend=backend.name,
        device_type=backend.device_type,
        simulated=backend.simulated,
        seam=current.seam.kind if current.seam else None,
        noops=current.noops(),
        caught=current.seam.caught() if current.seam else {},
    )


class _Arming:
    """Waits for torch, whose import a vendor's package cannot break meanwhile."""

    def __init__(self, backend: str | None, simulated: bool, observer: Observer | None) -> None:
        self._arguments = backend, simulated, observer
        self._resume: Callable[[Callable[[str], None]], None] = lambda report: None

    def prepare(self) -> None:
        """Get out of torch's way; called right before torch is executed."""
        from morph.backends.autoload import Autoload

        packages.hide()
        autoload = Autoload()
        autoload.suspend()
        self._resume = autoload.resume

    def __call__(self, torch: ModuleType) -> None:
        self._resume(report)
        packages.show()
        _disarm()
        with _lock:
            if _current is None:
                _begin(*self._arguments)


def _disarm() -> None:
    global _armed
    with _lock:
        if _armed is not None:
            finder.unwatch("torch", _armed)
            _armed = None


def _already_active(asked: str | None, backend: Backend) -> Status:
    if asked not in (None, backend.name):
        raise ActivationError(
            f"backend {backend.name!r} is active; call morph.deactivate() before activating {asked!r}"
        )
    return status()


def _begin(name: str | None, simulated: bool, observer: Observer | None) -> None:
    global _current, _stays_out
    from morph.backends import choice

    if choice.nvidia_works() and not simulated:
        _stays_out = True
        packages.uninstall()
        report("a working NVIDIA GPU is present; morph stays out")
        return
    journal = Journal()
    try:
        _current = _install(_backend(name, simulated, journal), journal, observer)
    except BaseException:
        journal.undo()
        raise
    _announce(_summary(_current.backend, _current.seam), journal)


def _backend(name: str | None, simulated: bool, journal: Journal) -> Backend:
    from morph.backends import choice

    if simulated:
        return choice.simulated(choice.requested(name), journal, _report_in_first_process)
    return choice.choose(choice.requested(name), journal, _report_in_first_process)


def _install(backend: Backend, journal: Journal, observer: Observer | None) -> _Activation:
    from morph import device, seam
    from morph.finders import serving

    _serve_packages(journal)
    if backend.table.facts.native_cuda:
        _make_active(backend, journal)
        return _Activation(journal, backend, None, dict)
    opened = seam.open_seam(report)
    journal.on_undo(opened.disengage)
    opened.engage(backend.device_type)
    _make_active(backend, journal)
    device.install(backend, journal)
    answers = serving.serve_cuda(backend, journal, observer)
    return _Activation(journal, backend, opened, lambda: answers.noops)


def _serve_packages(journal: Journal) -> None:
    journal.on_undo(packages.uninstall)
    packages.install()
    packages.take_over()


def _make_active(backend: Backend, journal: Journal) -> None:
    from morph import backends

    journal.on_undo(lambda: backends.set_active(None))
    backends.set_active(backend)


def _summary(backend: Backend, seam: Seam | None) -> str:
    count = backend.namespace.device_count()
    devices = "1 device" if count == 1 else f"{count} devices"
    kind = "simulated, " if backend.simulated else ""
    seams = "" if seam is None or seam.kind == "native" else ", without the native seam"
    return f"cuda is {backend.name} ({backend.table.facts.title}, {kind}{devices}{seams})"


def _announce(line: str, journal: Journal) -> None:
    """Say one line at start, in the first process of a family only."""
    if not os.environ.get(ANNOUNCED):
        journal.set_item(os.environ, ANNOUNCED, "1")
        report(line)


def _report_in_first_process(line: str) -> None:
    """Say what its children would only repeat."""
    if not os.environ.get(ANNOUNCED):
        report(line)


def report(line: str) -> None:
    """Print one line of morph's own on standard error."""
    print(f"morph: {line}", file=sys.stderr, flush=True)
