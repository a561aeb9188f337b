"""Runs idiom files on a platform and collects the outcome of each idiom."""

import ast
import json
import pathlib
import subprocess
import tempfile
from collections.abc import Iterable

from tests.platforms import Platform

FOLDER = pathlib.Path(__file__).parent
HELPERS = {"__init__", "idiom", "outcomes", "ported", "run", "test_idioms", "together"}
SUBJECTS = sorted({file.stem for file in FOLDER.glob("*.py")} - HELPERS)
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


def outcomes_together(
    platform: Platform, subjects: Iterable[str] = SUBJECTS, command: list[str] | None = None
) -> dict[str, str | None]:
    """Runs the idioms of several files, all in one process unless one of them kills it.

    Args:
        platform: The platform to run them on.
        subjects: The files' names.
        command: The command that runs a script, if not `python -m morph`.

    Returns:
        For each file and idiom, `"streams.pool_of_graphs"`, None if it holds, or the end of its failure.
    """
    names = [f"{subject}.{idiom}" for subject in subjects for idiom in idioms(subject)]
    return collect(platform, command or platform.command(morph=True), FOLDER, names)


def collect(
    platform: Platform, command: list[str], folder: pathlib.Path, waiting: list[str]
) -> dict[str, str | None]:
    """Runs idioms in one process, and those after one that kills it in another.

    Returns as `outcomes_together`.

    Args:
        platform: The platform to run them on.
        command: The command that runs a script.
        folder: That of the idioms' files.
        waiting: Their names.
    """
    known: dict[str, str | None] = {}
    with tempfile.TemporaryDirectory() as written:
        while waiting:
            results = pathlib.Path(written, "results.jsonl")
            results.touch()
            end = _run(platform, [*command, str(folder / "together.py")], results, waiting)
            for line in results.read_text(encoding="utf-8").splitlines():
                result = json.loads(line)
                known[result["name"]] = result.get("failure", end)
            results.unlink()
            if waiting[0] not in known:
                return known | dict.fromkeys(waiting, f"the file did not start: {end}")
            waiting = [name for name in waiting if name not in known]
    return known


def _run(platform: Platform, command: list[str], results: pathlib.Path, names: list[str]) -> str:
    """Runs one process and returns how it ended, with the end of its output."""
    whole = [*command, str(results), *names]
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
