"""The end of a process: the interpreter waits until torch's own threads have left Python.

Before CPython 3.14, a thread that takes the interpreter's lock while the interpreter ends aborts the process:
one of autograd's that drops the last objects of a graph, or of gloo's that drops a collective's tensors.
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
_ROUNDS = 2  # a thread may begin to wait for the interpreter during the check


def end_cleanly() -> None:
    """Make the process wait for torch's threads at its end."""
    atexit.unregister(_wait_for_threads)
    atexit.register(_wait_for_threads)


def _wait_for_threads() -> None:
    until, idle = time.monotonic() + _PATIENCE, 0
    while idle < _ROUNDS and time.monotonic() < until:
        time.sleep(_PAUSE)
        idle = 0 if _in_python() or any(map(_runs, _THREADS.glob("*"))) else idle + 1


def _in_python() -> bool:
    """Return whether a thread that Python did not start is running Python code."""
    started = {each.ident for each in threading.enumerate() if not isinstance(each, threading._DummyThread)}
    return not sys._current_frames().keys() <= started


def _runs(thread: pathlib.Path) -> bool:
    """Return whether a thread is one of torch's and running, as far as Linux reports it."""
    try:
        name, _, rest = (thread / "stat").read_text(encoding="utf-8").partition("(")[2].rpartition(")")
    except OSError:  # it has ended
        return False
    return name.startswith(_NAMED) and rest.split()[0] != "S"
