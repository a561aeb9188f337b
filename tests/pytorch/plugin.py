"""The pytest plugin of a run: takes the test support of the tree, and writes what came of each test.

Variables of the environment name what it reads and writes: MORPH_PYTORCH_TREE the source tree,
MORPH_PYTORCH_RESULTS the file to which the controlling process appends a line of JSON for each test, and
MORPH_PYTORCH_CHOSEN a file with the ids to run.
"""

import importlib
import json
import os
import pathlib
import re

import pytest

from tests.pytorch import processes

RESULTS = pathlib.Path(os.environ["MORPH_PYTORCH_RESULTS"])
CHOSEN = pathlib.Path(os.environ["MORPH_PYTORCH_CHOSEN"])


def pytest_sessionstart() -> None:
    """Put the tree's test support in place, once morph is active: its import asks whether there is CUDA."""
    importlib.import_module("tests.pytorch.support")
    processes.fork_spawned_processes()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Write the ids of a first collection, or leave the ids that were chosen."""
    if not CHOSEN.exists():
        CHOSEN.write_text("".join(f"{_name(item.nodeid)}\n" for item in items))
        items.clear()
        return
    chosen = set(CHOSEN.read_text().splitlines())
    items[:] = [item for item in items if _name(item.nodeid) in chosen]


class Recorder:
    """Appends each test's outcome to the results, from the reports of its phases."""

    def __init__(self) -> None:
        self.failed: dict[str, str] = {}
        self.skipped: dict[str, str] = {}
        self.seconds: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what a phase says; the last one, or a worker's end, decides."""
        name = _name(report.nodeid)
        self.seconds[name] = self.seconds.get(name, 0) + report.duration
        if report.failed:
            self.failed.setdefault(name, _last_line(report))
        elif report.skipped:
            self.skipped[name] = "" if hasattr(report, "wasxfail") else str(report.longrepr)[-200:]
        if report.when not in ("setup", "call"):  # the teardown, or the end of a worker that crashed
            self._write(name)

    def _write(self, name: str) -> None:
        outcome, why = "passed", ""
        if name in self.failed:
            outcome, why = "failed", self.failed[name]
        elif name in self.skipped:
            why = self.skipped[name]
            outcome = "skipped" if why else "xfailed"
        line = {"id": name, "outcome": outcome, "seconds": round(self.seconds[name], 2), "why": why}
        with RESULTS.open("a") as file:
            file.write(json.dumps(line) + "\n")


def pytest_configure(config: pytest.Config) -> None:
    """Record in the controlling process only."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder())


def _name(nodeid: str) -> str:
    return nodeid.partition("::")[2]


def _last_line(report: pytest.TestReport) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash else str(report.longrepr)
    if "exited with e" in text:  # error code or exception: with the traceback of a test's process or thread
        text = [text, *re.findall(r"^[\w.]+: .*", text, re.MULTILINE)][-1]
    return " ".join(text.split())[:300]
