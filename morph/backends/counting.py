"""The number of devices, asked without using one.

A vendor's runtime reads its mask of visible devices once, when it is asked anything, and CUDA's does so too.
A program may set the mask after ``import torch``, so that nothing of morph's may ask in the program's process
before the program does: a forked child asks.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import warnings
from collections.abc import Callable
from typing import Any

from morph.backends import Backend, visibility
from morph.base.errors import MorphError

PATIENCE = 30.0  # seconds
_kept: dict[tuple[str, str | None, str | None], int] = {}
_used: tuple[Any, int] | None = None  # the vendor's namespace, and the process that has used a device of it


class DeviceCountError(MorphError):
    """A vendor's package cannot count its devices; the message is its error's type and first line."""


def count(backend: Backend) -> int:
    """Return how many devices ``backend`` has for this process, without using one.

    Raises:
        DeviceCountError: If the vendor's package raises an error.
    """
    facts = backend.table.facts
    if backend.simulated or facts.software or _is_used(backend.namespace):
        return _count(backend.namespace)
    if visibility.hides_all():
        return 0
    key = facts.name, os.environ.get(facts.visible_devices), os.environ.get(visibility.CUDA_VARIABLE)
    if key not in _kept:
        _kept[key] = in_child(lambda: _count(backend.namespace))
    return _kept[key]


def late(backend: Backend, vendors: Callable[..., Any], answer: type[int]) -> Callable[..., Any]:
    """Return the vendor's ``is_available`` or ``device_count`` as code that sees CUDA calls it.

    Args:
        backend: The backend.
        vendors: The vendor's function; the number is its answer once a device has been used.
        answer: ``bool`` or ``int``: the type of its result.
    """
    if backend.simulated:
        return vendors

    def counted() -> Any:
        if not _is_used(backend.namespace):
            return answer(count(backend))
        return True if answer is bool else vendors()  # a device that was used is there

    return counted


def in_child(ask: Callable[[], int]) -> int:
    """Return what ``ask`` returns in a forked child; here, if there can be none or it does not answer.

    Raises:
        DeviceCountError: If ``ask`` raises an error, or ends the child.
    """
    answer = _of_child(ask)
    if answer is None:
        return ask()
    if answer.isdigit():
        return int(answer)
    raise DeviceCountError(answer or "the process that asks for its devices ends without an answer")


def _is_used(namespace: Any) -> bool:
    global _used
    if _used is not None and _used[0] is namespace and _used[1] == os.getpid():
        return True
    used = bool(getattr(namespace, "is_initialized", bool)())
    if used:
        _used = namespace, os.getpid()
    return used


def _count(namespace: Any) -> int:
    return int(namespace.device_count()) if namespace.is_available() else 0


def _of_child(ask: Callable[[], int]) -> str | None:
    reading, writing = os.pipe()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12, in a process with threads
            child = os.fork()
    except OSError:
        os.close(writing)
        os.close(reading)
        return None
    if child == 0:
        _answer(ask, writing)
    os.close(writing)
    try:
        return _read(reading, child)
    finally:
        os.close(reading)
        with contextlib.suppress(ChildProcessError):  # the program lets the kernel reap its children
            os.waitpid(child, 0)


def _read(reading: int, child: int) -> str | None:
    if select.select([reading], [], [], PATIENCE)[0]:
        return os.read(reading, select.PIPE_BUF).decode(errors="replace")
    os.kill(child, signal.SIGKILL)
    return None


def _answer(ask: Callable[[], int], writing: int) -> None:
    """Write the answer, or the error's type and first line, and end this process; say nothing else."""
    try:
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        text = str(ask())
    except BaseException as error:
        text = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
    finally:
        with contextlib.suppress(BaseException):
            os.write(writing, text.encode(errors="replace")[: select.PIPE_BUF])
        os._exit(0)
