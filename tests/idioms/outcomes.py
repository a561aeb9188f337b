"""Starts idiom files as programs on a platform and collects the outcome of each idiom."""

from __future__ import annotations

import ast
import json
import pathlib
import subprocess
import tempfile
from collections.abc import Iterable

from tests.platforms import Platform

FOLDER = pathlib.Path(__file__).parent
SUBJECTS = (
    "devices",
    "moves",
    "factories",
    "early_bound",
    "saving",
    "memory",
    "random_numbers",
    "streams",
    "amp",
    "backends",
    "distributed",
    "profiling",
    "scripting",
    "compiling",
    "packages",
    "modules",
    "layouts",
    "extensions",
    "refusals",
)
TIMEOUT = 180
SUMMARY = 400


def idioms(subject: str) -> list[str]:
    """Returns the names of the idioms in a file, without importing it."""
    module = ast.parse((FOLDER / f"{subject}.py").read_text(encoding="utf-8"))
    functions = [node for node in module.body if isinstance(node, ast.FunctionDef)]
    tables = [node.value for node in module.body if isinstance(node, ast.Assign)]
    rows = [
        ast.literal_eval(key) for table in tables if isinstance(table, ast.Dict) for key in table.keys if key
    ]
    return [
        *(node.name for node in functions if not node.name.startswith("_") and not node.decorator_list),
        *rows,
    ]


def outcomes(platform: Platform, subject: str, command: list[str] | None = None) -> dict[str, str | None]:
    """Runs the idioms of a file, all in one process unless one of them kills it.

    Args:
        platform: The platform to run them on.
        subject: The file's name.
        command: The command that runs a script, if not `python -m morph`.

    Returns:
        For each idiom None if it holds, or the end of its failure.
    """
    script = FOLDER / f"{subject}.py"
    return collect(platform, command or platform.command(morph=True), script, idioms(subject))


def outcomes_together(platform: Platform, subjects: Iterable[str] = SUBJECTS) -> dict[str, str | None]:
    """Runs the idioms of several files in one process, which imports files that otherwise run as main.

    Args:
        platform: The platform to run them on.
        subjects: The files' names.

    Returns:
        As `outcomes`, keyed by file and idiom: `"streams.pool_of_graphs"`.
    """
    names = [f"{subject}.{idiom}" for subject in subjects for idiom in idioms(subject)]
    return collect(platform, platform.command(morph=True), FOLDER / "together.py", names)


def collect(
    platform: Platform, command: list[str], script: pathlib.Path, waiting: list[str]
) -> dict[str, str | None]:
    """Runs idioms in one process, and those after one that kills it in another; returns as `outcomes`.

    Args:
        platform: The platform to run them on.
        command: The command that runs a script.
        script: The file that holds the idioms.
        waiting: Their names.
    """
    known: dict[str, str | None] = {}
    with tempfile.TemporaryDirectory() as folder:
        while waiting:
            results = pathlib.Path(folder, "results.jsonl")
            results.touch()
            end = _run(platform, command, script, results, waiting)
            for line in results.read_text(encoding="utf-8").splitlines():
                result = json.loads(line)
                known[result["name"]] = result.get("failure", end)
            results.unlink()
            if waiting[0] not in known:
                return known | dict.fromkeys(waiting, f"the file did not start: {end}")
            waiting = [name for name in waiting if name not in known]
    return known


def _run(
    platform: Platform, command: list[str], script: pathlib.Path, results: pathlib.Path, names: list[str]
) -> str:
    """Runs one process and returns how it ended, with the end of its output."""
    whole = [*command, str(script), str(results), *names]
    variables, output = dict(platform.environment), results.with_suffix(".txt")
    with output.open("w") as log:
        try:
            done = subprocess.run(
                whole, env=variables, cwd=results.parent, timeout=TIMEOUT, stdout=log, stderr=log, check=False
            )
            end = f"exit status {done.returncode}"
        except subprocess.TimeoutExpired:
            end = f"no end within {TIMEOUT} seconds"
    return f"{end}\n{output.read_text(errors='replace')[-SUMMARY:]}"
