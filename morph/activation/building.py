"""The C++ parts that starts and their programs load, built at the first start in two stages.

The first stage is all that a program needs. The second, at low priority in the background, is what makes it
faster or what few programs ask for; later starts use it.
"""

from __future__ import annotations

import contextlib
import os
import subprocess

from morph import SWITCH
from morph.backends.tables import library, table
from morph.backends.tables.table import Facts
from morph.base import interpreter, native
from morph.base.errors import MorphError
from morph.base.native import cache
from morph.software.settings import TOOLKIT

_DETACHED = '"$0" "$@" < /dev/null > /dev/null 2>&1 &'  # no child of this process, which need not wait for it
# one process per folder; it begins when the program has ended, or after a while, since it would slow it down
_COMPLETE = """
import fcntl, os, sys, time
backend, program, path = sys.argv[1:]
lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
try:
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
except OSError:
    sys.exit()
for _ in range(60):
    if not os.path.exists(f"/proc/{program}"):
        break
    time.sleep(1)
from morph.activation import building
building.complete_quietly(backend)
"""


def ensure(facts: Facts, *, simulated: bool = False) -> None:
    """Build the first stage in one go unless it is there, and let the second one be built in the background.

    A part that cannot be built is no error here: who loads it says so, or does without it.

    Args:
        facts: The backend's.
        simulated: Whether the software device stands for the vendor's.
    """
    is_software = facts.software or simulated
    if native.find(native.part("device" if is_software else "seam")):
        return
    with contextlib.suppress(MorphError):
        if not is_software:
            native.build(libraries(facts))
            return
        if native.find(native.part("boxed_device")) is None:
            native.build(first(facts, simulated=simulated))
        _complete_in_background("cpu")


def first(facts: Facts, *, simulated: bool = False) -> list[native.Library]:
    """Return the first stage of the software device.

    Args:
        facts: The backend's.
        simulated: Whether the software device stands for the vendor's.
    """
    import torch

    from morph.kernels import libraries

    parts = ["boxed_device", "collective", *(["seam"] if simulated else [])]
    cudart = library.load("libcudart")
    file = cudart.facts["majors"][(torch.version.cuda or TOOLKIT).partition(".")[0]]
    runtime = libraries.described(cudart, file, facts.name)
    return [*map(native.part, parts), *([] if simulated else [runtime])]


def libraries(facts: Facts) -> list[native.Library]:
    """Return all that starts on a backend and their programs load, what takes longest first.

    Args:
        facts: The backend's.
    """
    from morph.kernels import extensions
    from morph.kernels.libraries import every

    parts = ["device", "collective", "seam", "torchscript"] if facts.software else ["seam"]
    runtime = [extensions.library()] if facts.software else []
    return [*map(native.part, parts), *runtime, *every(facts.name)]


def complete_quietly(backend: str) -> None:
    """Build all of a backend's libraries at the lowest priority, which gives way to others.

    Args:
        backend: The backend's name.
    """
    os.nice(19)
    with contextlib.suppress(OSError):  # a container may forbid it
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    with contextlib.suppress(MorphError):
        native.build(libraries(table.facts(backend)))


def _complete_in_background(backend: str) -> None:
    """Start ``complete_quietly`` in a process of its own, if there is something that can be built."""
    if not native.is_worthwhile(libraries(table.facts(backend))):
        return
    lock = cache.folders()[0] / "background.lock"
    words = interpreter.command("-c", _COMPLETE, backend, str(os.getpid()), str(lock))
    subprocess.run(
        ["/bin/sh", "-c", _DETACHED, *words],
        env={**os.environ, SWITCH: "0", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"},
        start_new_session=True,
        check=False,
    )
