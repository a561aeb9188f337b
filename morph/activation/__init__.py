"""Activation: one journal records every change, so that all of them can be undone."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING

from morph.activation import configuration, ending
from morph.activation.request import Request
from morph.activation.state import Status
from morph.base import announcement, garbage
from morph.base.errors import ActivationError
from morph.base.importing import own_imports, withdraw
from morph.base.journal import Journal
from morph.finders.finder import finder
from morph.finders.packages.finder import packages as served_packages
from morph.finders.rewriting.finder import rewriter
from morph.finders.scope import Policy, Scope

if TYPE_CHECKING:
    from morph.activation.installation import Installation
    from morph.activation.request import Observer
    from morph.backends import Backend
    from morph.software.settings import Size


STAYS_OUT = "a working NVIDIA GPU is present; morph stays out"
_lock = threading.RLock()
_current: Installation | None = None
_stays_out = False
_armed: Callable[[ModuleType], None] | None = None
_PROGRAM = object()
_holders: set[object] = set()  # of the activation: the program, and each block of activated()


def activate(
    backend: str | None = None,
    *,
    packages: Iterable[str] | None = None,
    simulated: bool = False,
    observer: Observer | None = None,
    devices: int | None = None,
    device_memory: int | str | None = None,
) -> Status:
    """Make CUDA names mean ``backend``'s device in this process, and import torch.

    Activating again with the same backend, or with none given, changes nothing.

    Args:
        backend: The backend's name; None takes the configured one, else the first with an available device.
        packages: The only top-level packages whose code sees CUDA, and whose comparisons against CUDA
            literals accept the backend's spelling; None takes the configured ones, else all code.
            Modules that are imported already keep their comparisons.
        simulated: Run on the simulated device, with exactly the names that the vendor's package has.
        observer: Called with each CUDA name that is looked up.
        devices: The number of software devices, on the CPU or simulated; None takes ``MORPH_DEVICES``.
        device_memory: The memory of each, in bytes or as text with a unit, ``"8GiB"``; None takes
            ``MORPH_DEVICE_MEMORY``.

    Returns:
        The state after the activation.

    Raises:
        UnknownBackendError: If there is no such backend.
        AbsentBackendError: If its package or its device is absent.
        ConfigurationError: If a configuration file has an invalid value.
        ActivationError: If another backend is active already.
        SettingsError: If the number or the memory of the devices is not possible.
    """
    return activate_as(_request(backend, packages, simulated, observer, devices, device_memory))


@contextmanager
def activated(
    backend: str | None = None,
    *,
    packages: Iterable[str] | None = None,
    simulated: bool = False,
    observer: Observer | None = None,
    devices: int | None = None,
    device_memory: int | str | None = None,
) -> Iterator[Status]:
    """Activate for the length of a ``with`` block; an earlier activation stays.

    Blocks nest, and those of several threads overlap: the end of the last one ends the activation.

    Args:
        backend: As for ``activate``.
        packages: As for ``activate``.
        simulated: As for ``activate``.
        observer: As for ``activate``.
        devices: As for ``activate``.
        device_memory: As for ``activate``.

    Yields:
        The state after the activation.

    Raises:
        MorphError: As ``activate`` does.
    """
    block = object()
    try:
        yield activate_as(_request(backend, packages, simulated, observer, devices, device_memory), block)
    finally:
        _let_go(block)


def arm(
    backend: str | None = None,
    *,
    simulated: bool = False,
    observer: Observer | None = None,
    scope: Scope | None = None,
    required: bool = True,
    size: Size | None = None,
) -> None:
    """Activate as soon as the program has imported torch, or now if it has; import nothing now.

    Args:
        backend: As for ``activate``.
        simulated: As for ``activate``.
        observer: As for ``activate``.
        scope: Whose code sees CUDA; None takes all code.
        required: Whether a failed activation makes the import of torch fail; else it is reported in one line.
        size: The size of the software device, where one is used.
    """
    global _armed
    request = Request(
        backend, simulated=simulated, observer=observer, scope=scope, required=required, size=size
    )
    if "torch" in sys.modules:
        activate_as(request)
        return
    served_packages.install(request.scope)
    if request.rewrites:
        rewriter.install(request.scope, request.literals_of)
    with _lock:
        if _armed is None and _current is None:
            _armed = _Arming(request)
            finder.watch("torch", _armed)
            finder.prepare("torch", _armed.prepare)


def deactivate() -> None:
    """Undo the activation, restoring every object by identity; without an activation do nothing."""
    global _current, _stays_out
    withdraw()
    _disarm()
    with _lock:
        current, _current, _stays_out = _current, None, False
        _holders.clear()
        served_packages.uninstall()
        rewriter.uninstall()
        if current is not None:
            current.journal.undo()


def status() -> Status:
    """Return the state of morph in this process."""
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
        seam_problem=current.seam.problem if current.seam else None,
        noops=current.noops(),
        caught=current.caught(),
        skipped=dict(current.journal.skipped),
    )


def summary() -> str | None:
    """Return what CUDA is in this process, in a line; None where morph has not looked."""
    current = _current
    if current is None:
        return STAYS_OUT if _stays_out else None
    from morph.backends import counting

    return announcement.summary(current.backend, current.seam, counting.count)


def is_armed() -> bool:
    """Return whether the import of torch will activate morph, by ``arm``."""
    return _armed is not None


class _Arming:
    """Waits for torch; meanwhile no vendor's package can break its import."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._resume: Callable[[Callable[[str], None]], None] = lambda report: None

    def prepare(self) -> None:
        """Keep out of torch's way; called right before torch is executed."""
        with own_imports:
            from morph.backends.autoload import Autoload

        served_packages.hide()
        autoload = Autoload()
        autoload.suspend()
        self._resume = autoload.resume

    def __call__(self, torch: ModuleType) -> None:
        self._resume(announcement.report)
        served_packages.show()
        _disarm()
        with _lock:
            if _current is None:
                self._begin()

    def _begin(self) -> None:
        try:
            _begin(self._request)
        except Exception as error:  # whatever the error, torch can be imported
            if self._request.required:
                raise
            served_packages.uninstall()
            rewriter.uninstall()
            announcement.say_inactive(error)
        else:
            _holders.add(_PROGRAM)


def _disarm() -> bool:
    """Stop waiting for torch; return whether the program was to be activated with it."""
    global _armed
    with _lock:
        armed, _armed = _armed, None
        if armed is not None:
            finder.unwatch("torch", armed)
        return armed is not None


def _request(
    backend: str | None,
    packages: Iterable[str] | None,
    simulated: bool,
    observer: Observer | None,
    devices: int | None,
    device_memory: int | str | None,
) -> Request:
    if packages is None:
        scope = configuration.effective().scope
    else:
        scope = Scope({name: Policy() for name in packages})
    with own_imports:
        from morph.software import settings
    size = settings.size(devices, device_memory, ("devices", "device_memory"))
    return Request(backend, simulated=simulated, observer=observer, scope=scope, size=size)


def activate_as(request: Request, holder: object = _PROGRAM) -> Status:
    """Activate now, as ``request`` says, and import torch.

    Args:
        request: What is asked for.
        holder: Who keeps the activation: the program, or a block.

    Raises:
        MorphError: As ``activate`` does.
    """
    waited, was_armed = withdraw(), _disarm()
    _import_torch()  # outside the lock: a thread that calls arm() may hold torch's import lock
    with _lock:
        if _current is None:
            _begin(request)
        else:
            _refuse_another(request.backend, _current.backend)
        _holders.update({holder, _PROGRAM} if waited or was_armed else {holder})
        return status()


def _import_torch() -> None:
    """Import torch, if it is not imported yet, so that no vendor's package can break that."""
    is_new = "torch" not in sys.modules
    with own_imports:
        from morph.backends.autoload import Autoload

    autoload = Autoload()
    if is_new:
        autoload.suspend()
    try:
        served_packages.import_torch()  # which waits for another thread that imports it
    finally:
        if is_new:
            autoload.restore()
    if is_new:
        autoload.resume(announcement.report)


def _let_go(holder: object) -> None:
    with _lock:
        if holder in _holders:
            _holders.remove(holder)
            if not _holders:
                deactivate()


def _refuse_another(asked: str | None, backend: Backend) -> None:
    if asked not in (None, backend.name):
        raise ActivationError(
            f"backend {backend.name!r} is active; call morph.deactivate() before activating {asked!r}"
        )


def _ensure_release() -> None:
    with own_imports:
        from morph.backends.torch_release import why_too_old

    problem = why_too_old(str(sys.modules["torch"].__version__))
    if problem:
        raise ActivationError(problem)


def _begin(request: Request) -> None:
    global _current, _stays_out
    _ensure_release()
    is_first = "morph.activation.installation" not in sys.modules  # later ones import next to nothing
    with own_imports, garbage.only_young(is_first):
        from morph.activation import choice, installation
        from morph.backends import counting

    if choice.nvidia_works() and not request.simulated:
        _stays_out = True
        served_packages.uninstall()
        rewriter.uninstall()
        announcement.report_choice(STAYS_OUT)
        return
    journal = Journal()
    try:
        with own_imports, garbage.only_young(is_first):
            _current = installation.install(request, journal)
    except BaseException:
        journal.undo()
        raise
    ending.end_cleanly()
    announcement.announce(_current.backend, _current.seam, journal, counting.count)
