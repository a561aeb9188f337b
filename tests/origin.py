"""Processes that have imported torch, from which workers and scripts are forked: the import takes seconds.

`Origin` is pytest's side. The other side is this module run as a program, with or without morph.
"""

from __future__ import annotations

import dataclasses
import gc
import importlib
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import tempfile
import types
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection, Pipe, wait
from multiprocessing.reduction import recv_handle, send_handle
from typing import Any

from tests.platforms import Platform, describe

STARTING = 120.0
MOST = 6  # at a time, since each takes 150 MB
_origins: dict[object, Origin] = {}


class OriginError(Exception):
    """A process that others are to be forked from did not start."""


@dataclasses.dataclass(frozen=True)
class Task:
    """What a forked process does.

    Attributes:
        module: The module of a function.
        name: The function's name; it takes the arguments, and one `Connection` if there is one.
        arguments: Its first arguments.
        folder: The process's working directory.
        environment: Variables to set in addition to those of the origin.
    """

    module: str
    name: str
    arguments: tuple[Any, ...] = ()
    folder: str = os.curdir
    environment: Mapping[str, str] = dataclasses.field(default_factory=dict)


class Origin:
    """A process that has imported torch and waits to be forked.

    Attributes:
        forks: The ids of the processes that were forked from it and have not been waited for.

    Args:
        platform: Where it runs.
        morph: Whether it runs under `python -m morph`, or with the vendor's package alone.
    """

    def __init__(self, platform: Platform, *, morph: bool) -> None:
        self.forks = set[int]()
        self._output = tempfile.TemporaryFile()
        self._folder = tempfile.TemporaryDirectory()
        self._connection, theirs = Pipe()
        command = [*platform.command(morph=morph), "-m", "tests.origin", str(theirs.fileno())]
        self._process = subprocess.Popen(
            command,
            env=dict(platform.environment),
            cwd=self._folder.name,
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=self._output,
        )
        theirs.close()

    def fork(self, task: Task, *descriptors: int) -> Fork:
        """Forks a process.

        Args:
            task: What it does.
            *descriptors: The files for its standard output and error, and perhaps for a connection.

        Returns:
            The process, which has started.

        Raises:
            OriginError: If there is no process to fork.
        """
        try:
            self._connection.send_bytes(pickle.dumps((task, len(descriptors))))
            for descriptor in descriptors:
                send_handle(self._connection, descriptor, self._process.pid)
            if self._connection.poll(STARTING):
                pid = self._connection.recv()
                self.forks.add(pid)
                return Fork(self, pid)
        except (EOFError, OSError):
            pass
        self._process.wait(STARTING)
        raise OriginError(f"a process did not start:\n{self._said()}")

    def reap(self, pid: int) -> int:
        """Returns the exit status of a forked process that has ended."""
        self._connection.send_bytes(pickle.dumps(pid))
        status: int = self._connection.recv()
        self.forks.remove(pid)
        return status

    def end(self) -> None:
        """Lets the process end."""
        self._connection.close()
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._output.close()
        self._folder.cleanup()

    def _said(self) -> str:
        self._output.seek(0)
        return self._output.read().decode(errors="replace").strip()


class Fork:
    """A process that was forked from an origin."""

    def __init__(self, origin: Origin, pid: int) -> None:
        self.pid = pid
        self.ended = os.pidfd_open(pid)
        self._origin = origin
        self._status: int | None = None

    def wait(self, timeout: float) -> int | None:
        """Waits for its end at most so many seconds, and returns its exit status if it has ended."""
        if self._status is None and wait([self.ended], timeout):
            os.close(self.ended)
            self._status = self._origin.reap(self.pid)
        return self._status

    def kill(self) -> None:
        """Ends it at once."""
        if self._status is None:
            os.kill(self.pid, signal.SIGKILL)


def origin(platform: Platform, *, morph: bool) -> Origin:
    """Returns the origin on a platform, which goes on until many others were asked for since."""
    key = platform.name, tuple(sorted(platform.environment.items())), morph
    found = _origins.pop(key, None)
    idle = [each for each, origin in _origins.items() if not origin.forks]
    for each in idle[: max(0, len(_origins) + 1 - MOST)]:
        _origins.pop(each).end()
    _origins[key] = found or Origin(platform, morph=morph)
    return _origins[key]


def end_all() -> None:
    """Lets all origins end."""
    while _origins:
        _origins.popitem()[1].end()


def run(
    platform: Platform,
    source: str,
    *,
    morph: bool = False,
    check: bool = True,
    timeout: float = 120,
    environment: Mapping[str, str] | None = None,
    cwd: pathlib.Path | None = None,
) -> subprocess.CompletedProcess[str]:
    """Runs source text in a process of its own that has imported torch already.

    Args:
        platform: Where it runs.
        source: The text.
        morph: Whether under `python -m morph`.
        check: Whether an exit status other than zero fails the test.
        timeout: Seconds after which the process is killed and `subprocess.TimeoutExpired` raised.
        environment: Variables to set in addition to the platform's, once torch is imported.
        cwd: The process's working directory.

    Returns:
        The finished process, with its output as text.
    """
    folder = os.fspath(cwd or tempfile.gettempdir())
    task = Task(__name__, "execute", (source,), folder, environment or {})
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        forked = origin(platform, morph=morph).fork(task, output.fileno(), errors.fileno())
        status = forked.wait(timeout)
        if status is None:
            forked.kill()
            forked.wait(timeout)
            raise subprocess.TimeoutExpired(source, timeout)
        output.seek(0)
        errors.seek(0)
        said = output.read().decode(), errors.read().decode()
    done = subprocess.CompletedProcess([source], status, *said)
    assert not (check and status), describe(done)
    return done


def execute(source: str) -> None:
    """Executes source text as a program."""
    program = sys.modules["__main__"] = types.ModuleType("__main__")
    exec(compile(source, "<string>", "exec"), vars(program))


def serve(connection: Connection) -> None:
    """Forks and reaps as asked until the other side closes the connection; returns in each child too."""
    importlib.import_module("torch")
    gc.collect()
    gc.freeze()
    while True:
        try:
            asked = pickle.loads(connection.recv_bytes())
        except EOFError:
            return
        if isinstance(asked, int):
            connection.send(os.waitstatus_to_exitcode(os.waitpid(asked, 0)[1]))
            continue
        task, count = asked
        descriptors = [recv_handle(connection) for _ in range(count)]
        pid = os.fork()
        if pid == 0:
            connection.close()
            _become(task, descriptors)
            return
        for descriptor in descriptors:
            os.close(descriptor)
        connection.send(pid)


def _become(task: Task, descriptors: Sequence[int]) -> None:
    output, errors, *channel = descriptors
    os.dup2(output, 1)
    os.dup2(errors, 2)
    os.chdir(task.folder)
    os.environ.update(task.environment)
    function = getattr(importlib.import_module(task.module), task.name)
    function(*task.arguments, *map(Connection, channel))


if __name__ == "__main__":
    # Pickled classes must belong to the importable module, not to this program's `__main__`.
    importlib.import_module("tests.origin").serve(Connection(int(sys.argv[1])))
