"""The end of a process: torch's own threads are done with Python before the interpreter ends.

A thread that asks for the interpreter while that ends aborts the process, before CPython 3.14: one of
autograd's that drops the last objects of a graph, or one of gloo's that drops the tensors of a collective.
"""

from __future__ import annotations

import atexit
import pathlib
import sys
import threading
import time

_THREADS = pathlib.Path("/proc/self/task")
_NAMED = "pt_"  # as torch names the threads that it starts
_PAUSE, _PATIENCE = 0.001, 2.0  # seconds
_ROUNDS = 2  # one may begin to wait for the interpreter while it is looked at


def end_cleanly() -> None:
    """Has the process wait for torch's threads at its end, once."""
    atexit.unregister(_wait_for_threads)
    atexit.register(_wait_for_threads)


def _wait_for_threads() -> None:
    until, idle = time.monotonic() + _PATIENCE, 0
    while idle < _ROUNDS and time.monotonic() < until:
        time.sleep(_PAUSE)
        idle = 0 if _in_python() or _at_work() else idle + 1


def _in_python() -> bool:
    """Tells whether a thread that Python has not started is in a function of Python's."""
    started = {each.ident for each in threading.enumerate() if not isinstance(each, threading._DummyThread)}
    return not sys._current_frames().keys() <= started


def _at_work() -> bool:
    """Tells whether a thread of torch's is doing anything but wait; as far as Linux tells."""
    return any(_runs(thread) for thread in _THREADS.glob("*"))


def _runs(thread: pathlib.Path) -> bool:
    try:
        name, _, rest = (thread / "stat").read_text(encoding="utf-8").partition("(")[2].rpartition(")")
    except OSError:  # it has ended
        return False
    return name.startswith(_NAMED) and rest.split()[0] != "S"
