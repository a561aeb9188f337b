"""The activation of this process: its beginning, its state, who keeps it, and its end."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING

from morph.activation import ending
from morph.activation.state import Status
from morph.base import announcement, garbage
from morph.base.errors import ActivationError
from morph.base.importing import own_imports
from morph.base.journal import Journal
from morph.finders.packages.finder import packages as served_packages

if TYPE_CHECKING:
    from morph.activation.installation import Installation
    from morph.activation.request import Request
    from morph.backends import Backend

STAYS_OUT = "a working NVIDIA GPU is present; morph stays out"
PROGRAM = object()
lock = threading.RLock()
_current: Installation | None = None
_stays_out = False
_holders: set[object] = set()  # of the activation: the program, and each block of activated()


def keep(request: Request, holders: Iterable[object]) -> Status:
    """Activate as ``request`` says, unless that is done already, for as long as there are ``holders``.

    Raises:
        MorphError: As ``activate`` does.
    """
    with lock:
        if _current is None:
            begin(request)
        else:
            _refuse_another(request.backend, _current.backend)
        _holders.update(holders)
        return status()


def let_go(holder: object) -> bool:
    """Keep the activation for ``holder`` no longer, and return whether it was the last one."""
    with lock:
        if holder not in _holders:
            return False
        _holders.remove(holder)
        return not _holders


def hold() -> None:
    """Keep the activation for the program."""
    _holders.add(PROGRAM)


def is_active() -> bool:
    """Return whether CUDA names are served by a backend."""
    return _current is not None


def begin(request: Request) -> None:
    """Install what ``request`` asks for; the caller holds the lock.

    Raises:
        MorphError: As ``activate`` does.
    """
    global _current, _stays_out
    _ensure_release()
    is_first = "morph.activation.installation" not in sys.modules  # later ones import next to nothing
    with own_imports, garbage.only_young(is_first):
        from morph.activation import choice, installation
        from morph.backends import counting

    if choice.nvidia_works() and not request.simulated:
        _stays_out = True
        served_packages.uninstall()
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


def end() -> None:
    """Undo the activation, restoring every object by identity; without an activation do nothing."""
    global _current, _stays_out
    with lock:
        current, _current, _stays_out = _current, None, False
        _holders.clear()
        served_packages.uninstall()
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
