"""Activation: one journal records every change, so that all of them can be undone."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from morph.activation import arming, configuration, process
from morph.activation.arming import is_armed
from morph.activation.process import status, summary
from morph.activation.request import Request as Request
from morph.activation.state import Status
from morph.base import announcement
from morph.base.importing import own_imports, withdraw
from morph.finders.packages.finder import packages as served_packages
from morph.finders.scope import Policy, Scope

if TYPE_CHECKING:
    from morph.activation.request import Observer

__all__ = ["activate", "activate_as", "activated", "arm", "deactivate", "is_armed", "status", "summary"]


def activate(
    backend: str | None = None,
    *,
    packages: Iterable[str] | None = None,
    simulated: bool = False,
    observer: Observer | None = None,
    devices: int | None = None,
    device_memory: int | str | None = None,
    device_profile: str | None = None,
) -> Status:
    """Make CUDA names mean ``backend``'s device in this process, and import torch.

    Activating again with the same backend, or with none given, changes nothing.

    Args:
        backend: The backend's name; None takes the configured one, else the first with an available device.
        packages: The only top-level packages whose code sees CUDA; None takes the configured ones, else all.
        simulated: Run on the simulated device, with exactly the names that the vendor's package has.
        observer: Called with each CUDA name that is looked up.
        devices: The number of software devices, on the CPU or simulated; None takes ``MORPH_DEVICES``.
        device_memory: The memory of each, in bytes or as text with a unit, ``"8GiB"``; None takes
            ``MORPH_DEVICE_MEMORY``.
        device_profile: The card that they stand for, ``"h100"``; None takes ``MORPH_DEVICE_PROFILE``.

    Returns:
        The state after the activation.

    Raises:
        UnknownBackendError: If there is no such backend.
        AbsentBackendError: If its package or its device is absent.
        ConfigurationError: If a configuration file has an invalid value.
        ActivationError: If another backend is active already.
        SettingsError: If the number or the memory of the devices, or the card, is not possible.
    """
    return activate_as(
        _request(backend, packages, simulated, observer, (devices, device_memory, device_profile))
    )


@contextmanager
def activated(
    backend: str | None = None,
    *,
    packages: Iterable[str] | None = None,
    simulated: bool = False,
    observer: Observer | None = None,
    devices: int | None = None,
    device_memory: int | str | None = None,
    device_profile: str | None = None,
) -> Iterator[Status]:
    """Activate for the length of a ``with`` block; an earlier activation stays.

    Blocks nest, and those of several threads overlap: the end of the last one ends the activation. The
    arguments are those of ``activate``.

    Yields:
        The state after the activation.

    Raises:
        MorphError: As ``activate`` does.
    """
    block = object()
    try:
        yield activate_as(
            _request(backend, packages, simulated, observer, (devices, device_memory, device_profile)), block
        )
    finally:
        with process.lock:
            if process.let_go(block):
                deactivate()


def arm(request: Request) -> None:
    """Activate as soon as the program has imported torch, or now if it has; import nothing now."""
    if "torch" in sys.modules:
        activate_as(request)
    else:
        arming.wait_for_torch(request)


def deactivate() -> None:
    """Undo the activation, restoring every object by identity; without an activation do nothing."""
    withdraw()
    arming.disarm()
    process.end()


def _request(
    backend: str | None,
    packages: Iterable[str] | None,
    simulated: bool,
    observer: Observer | None,
    size: tuple[int | None, int | str | None, str | None],
) -> Request:
    if packages is None:
        scope = configuration.effective().scope
    else:
        scope = Scope({name: Policy() for name in packages})
    with own_imports:
        from morph.software import settings
    asked = settings.size(*size, ("devices", "device_memory", "device_profile"))
    return Request(backend, simulated=simulated, observer=observer, scope=scope, size=asked)


def activate_as(request: Request, holder: object = process.PROGRAM) -> Status:
    """Activate now, as ``request`` says, and import torch.

    Args:
        request: What is asked for.
        holder: Who keeps the activation: the program, or a block.

    Raises:
        MorphError: As ``activate`` does.
    """
    waited, was_armed = withdraw(), arming.disarm()
    _import_torch()  # outside the lock: a thread that calls arm() may hold torch's import lock
    return process.keep(request, {holder, process.PROGRAM} if waited or was_armed else {holder})


def _import_torch() -> None:
    """Import torch, if it is not imported yet, so that no vendor's package can break that."""
    if "torch" in sys.modules:
        served_packages.import_torch()  # which waits for another thread that imports it
        return
    with own_imports:
        from morph.backends.autoload import Autoload

    autoload = Autoload()
    try:
        served_packages.import_torch()
    finally:
        autoload.restore()
    autoload.resume(announcement.report)
