"""Runs test functions inside one process on one platform.

`Worker` is pytest's side. The other side is `serve`, in a process that is forked from an origin.
"""

import dataclasses
import importlib
import pathlib
import pickle
import sys
import traceback
import warnings
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any

import pytest

from tests import origin
from tests.platforms import Platform

TIMEOUT = 120.0
# Every user of the vendor's package, and of a loader that pins on torch 2.9, sees these; no test checks them.
OTHERS_WARNINGS = (
    r"(?s).*\(Triggered internally at \.\./torch_npu/",
    "<TorchTpu/",
    r"The \.grad attribute of a Tensor that is not a leaf(.|\n)*torch_tpu_pypi",
    r"The argument 'device' of Tensor\.pin_memory\(\) is deprecated",
)


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The outcome of one call: "passed", "failed" or "skipped", and the traceback or reason."""

    status: str
    text: str = ""


class Worker:
    """A process that runs test functions one after the other, started on demand and restarted after it dies.

    Args:
        platform: Where it runs.
        log: The file for its standard output and error.
        morph: Whether it runs under `python -m morph`, or with the vendor's package alone.
    """

    def __init__(self, platform: Platform, log: pathlib.Path, *, morph: bool = True) -> None:
        self.platform = platform
        self._log = log
        self._morph = morph
        self._process: origin.Fork | None = None
        self._connection: Connection | None = None

    @property
    def alive(self) -> bool:
        """Whether its process runs."""
        return self._process is not None and self._process.wait(0) is None

    def call(self, function: Callable[..., object], arguments: Mapping[str, Any]) -> None:
        """Runs a function of an importable module in the worker.

        Args:
            function: Looked up in the worker by module and name.
            arguments: By name; each must be picklable.

        Raises:
            pytest.fail.Exception: If it raised, or the worker died or took longer than `TIMEOUT` seconds.
            pytest.skip.Exception: If it skipped itself.
        """
        seen = self._log.stat().st_size if self._log.exists() else 0
        # Plain pickle: the connection's own would pass tensors in shared memory.
        outcome = self._ask(pickle.dumps((function.__module__, function.__qualname__, dict(arguments))))
        if outcome.status == "skipped":
            pytest.skip(outcome.text)
        if outcome.status == "failed":
            said = self._log.read_bytes()[seen:].decode(errors="replace").strip()
            output = f"\n--- output of the worker\n{said}" if said else ""
            pytest.fail(f"on {self.platform.name}: {outcome.text}{output}", pytrace=False)

    def dismiss(self) -> None:
        """Lets the process end, if there is one, without waiting for it."""
        if self._connection is not None:
            self._connection.close()

    def stop(self) -> None:
        """Ends the process, if there is one."""
        self.dismiss()
        if self._process is not None and self._process.wait(20) is None:
            self._process.kill()
            self._process.wait(20)
        self._process = self._connection = None

    def _ask(self, request: bytes) -> Outcome:
        try:
            process, connection = self._running()
        except origin.OriginError as error:
            return Outcome("failed", str(error))
        try:
            connection.send_bytes(request)
            if not wait([connection, process.ended], TIMEOUT):
                process.kill()
                return self._lost(f"no answer within {TIMEOUT:.0f} seconds")
            if not connection.poll():
                return self._lost("the worker died")
            outcome = connection.recv()
        except (EOFError, ConnectionError):
            return self._lost("the worker died")
        assert isinstance(outcome, Outcome)
        return outcome

    def _running(self) -> tuple[origin.Fork, Connection]:
        if self._process is None or self._connection is None:
            started = origin.origin(self.platform, morph=self._morph)
            task = origin.Task(__name__, "serve", folder=str(self._log.parent))
            self._connection, theirs = Pipe()
            with theirs, self._log.open("ab") as log:
                self._process = started.fork(task, log.fileno(), log.fileno(), theirs.fileno())
        return self._process, self._connection

    def _lost(self, reason: str) -> Outcome:
        process = self._process
        self.stop()
        return Outcome("failed", f"{reason} (exit status {process and process.wait(0)})")


class Workers:
    """The workers of a session, each started once per folder: starting one takes longer than most tests.

    Args:
        folder: Creates a folder for one worker's output.
    """

    def __init__(self, folder: Callable[[], pathlib.Path]) -> None:
        self._folder = folder
        self._known: dict[tuple[str, bool, frozenset[tuple[str, str]]], Worker] = {}
        self._tests: pathlib.Path | None = None

    def enter(self, tests: pathlib.Path) -> None:
        """Stops the workers of another folder of tests, so that this one does not inherit their state."""
        if tests != self._tests:
            self.stop()
        self._tests = tests

    def on(self, platform: Platform, *, morph: bool) -> Worker:
        """Returns the worker on a platform, under morph or with the vendor's package alone."""
        key = (platform.name, morph, frozenset(platform.environment.items()))
        if key not in self._known:
            self._known[key] = Worker(platform, self._folder() / "output.txt", morph=morph)
        return self._known[key]

    def stop(self) -> None:
        """Stops all workers, which takes seconds for some."""
        for worker in self._known.values():
            worker.dismiss()
        for worker in self._known.values():
            worker.stop()


def serve(connection: Connection) -> None:
    """Serves requests until the other side closes the connection."""
    while True:
        try:
            request = connection.recv_bytes()
        except EOFError:
            return
        connection.send(_run(request))
        sys.stdout.flush()
        sys.stderr.flush()


def _run(request: bytes) -> Outcome:
    try:
        with warnings.catch_warnings():
            module, name, arguments = pickle.loads(request)
            function: Any = importlib.import_module(module)
            for part in name.split("."):
                function = getattr(function, part)
            warnings.simplefilter("error")
            for message in OTHERS_WARNINGS:
                warnings.filterwarnings("ignore", message)
            function(**arguments)
    except pytest.skip.Exception as skipped:
        return Outcome("skipped", str(skipped))
    except (Exception, pytest.fail.Exception) as error:
        return Outcome("failed", _explain(error))
    return Outcome("passed")


def _explain(error: BaseException) -> str:
    """Returns the traceback from the test function on, with the local variables of the test's frames."""
    told = traceback.TracebackException.from_exception(error, capture_locals=True)
    frames = [frame for frame in told.stack if frame.filename != __file__]
    for frame in frames:
        if "/tests/" not in frame.filename:
            frame.locals = None
    told.stack[:] = frames
    return "".join(told.format())
